/** The precondition guard: a write says which view of the run it rests on, and is refused where something came from outside since. */
import { describe, expect, it } from "vitest";
import { hook, memoryWorld, newRun, send, step } from "./worlds.ts";

describe("the precondition guard", () => {
  it("refuses a write that rests on a view older than what a hook received", async () => {
    const world = memoryWorld();
    expect(world.capabilities).toEqual({ preconditionGuard: true });
    const id = await newRun(world);
    await send(world, id, hook.created("h", "t"));
    const seen = await snapshotOf(world, id);
    await send(world, id, hook.received("h"));
    const write = (stateUpdatedAt: number) => world.events.create(id, step.lazy("s"), { stateUpdatedAt });
    await expect(write(seen)).rejects.toMatchObject({ name: "PreconditionFailedError", status: 412 });
    expect((await write(await snapshotOf(world, id))).stepCreated).toBe(true);
  });

  it("tells views apart that are of the same millisecond", async () => {
    const now = Date.now();
    const world = memoryWorld({ clock: () => now });
    const id = await newRun(world);
    await send(world, id, hook.created("h", "t"));
    for (let i = 0; i < 3; i++) {
      const seen = await snapshotOf(world, id);
      await send(world, id, hook.received("h"));
      await expect(
        world.events.create(id, step.lazy(`s${i}`), { stateUpdatedAt: seen }),
      ).rejects.toMatchObject({ status: 412 });
    }
    const { data } = await world.events.list({ runId: id });
    const ids = data.map(({ eventId }) => eventId);
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(6);
  });
});

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The milliseconds in the id of the last event, as the SDK takes them. */
const snapshotOf = async (world: ReturnType<typeof memoryWorld>, runId: string): Promise<number> => {
  const { data } = await world.events.list({ runId });
  const ulid = data.at(-1)!.eventId.replace(/^evnt_/, "");
  return [...ulid.slice(0, 10)].reduce((time, digit) => time * 32 + ALPHABET.indexOf(digit), 0);
};
