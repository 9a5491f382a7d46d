/**
 * A thread that takes back what it did: when the hotel cannot be booked, `onError` cancels the flight. What it decides is recorded as the
 * step's result, so that a later run of the thread neither books nor cancels again.
 *
 *   node examples/compensation.ts
 */
import { workflow } from "../src/threads/index.ts";

export interface Agency {
  bookFlight(to: string): Promise<string>;
  cancelFlight(flight: string): Promise<void>;
  bookHotel(in_: string): Promise<string>;
}

type Hotel = { readonly booked: string } | { readonly failed: string };

export const tripsOf = (agency: Agency) =>
  workflow(
    async ({ city }: { readonly city: string }, { step }) => {
      const flight = await step("flight", () => agency.bookFlight(city));
      const hotel = await step<Hotel>("hotel", async () => ({ booked: await agency.bookHotel(city) }), {
        retry: { maxAttempts: 3, initialIntervalMs: 10 },
        onError: async ({ error, attempts }) => {
          await agency.cancelFlight(flight);
          return { failed: `${String(error)} (${attempts} attempts)` };
        },
      });
      return "booked" in hotel ? `${flight} and ${hotel.booked}` : `no trip: ${hotel.failed}`;
    },
    { name: "trips" },
  );

if (process.argv[1] === import.meta.filename) {
  const trips = tripsOf({
    bookFlight: async (to) => `flight to ${to}`,
    cancelFlight: async (flight) => console.log(`cancelled: ${flight}`),
    bookHotel: async () => Promise.reject(new Error("no rooms")),
  });
  const { output, state } = await trips.invoke({ city: "Oslo" });
  console.log(output, state.steps.hotel?.recovered);
}
