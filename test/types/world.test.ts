/**
 * The World port, against the declarations of `@workflow/world@5.0.0-beta.21`: what fits the one fits the other. `npm run types` is
 * what judges this file; running it only shows that it is looked at.
 *
 * Message ids are the one difference of spelling: the published type brands them with a symbol of zod's, so `World` takes the type of
 * its message ids as a parameter.
 */
import type * as published from "@workflow/world";
import { describe, expectTypeOf, it } from "vitest";
import type {
  CreateEventParams,
  CreateEventRequest,
  Event,
  EventResult,
  EventType,
  Hook,
  QueueOptions,
  QueuePayload,
  RunCreatedEventRequest,
  Step,
  Storage,
  Streamer,
  Wait,
  WorkflowRun,
  World,
} from "../../src/executor/index.ts";

describe("the World port", () => {
  it("has the published entities, in both directions", () => {
    expectTypeOf<Step>().toExtend<published.Step>();
    expectTypeOf<published.Step>().toExtend<Step>();
    expectTypeOf<WorkflowRun>().toExtend<published.WorkflowRun>();
    expectTypeOf<published.WorkflowRun>().toExtend<WorkflowRun>();
    expectTypeOf<Hook>().toExtend<published.Hook>();
    expectTypeOf<published.Hook>().toExtend<Hook>();
    expectTypeOf<Wait>().toExtend<published.Wait>();
    expectTypeOf<published.Wait>().toExtend<Wait>();
  });

  it("has the published events and requests, in both directions", () => {
    expectTypeOf<EventType>().toEqualTypeOf<published.EventType>();
    expectTypeOf<Event>().toExtend<published.Event>();
    expectTypeOf<published.Event>().toExtend<Event>();
    expectTypeOf<CreateEventRequest>().toExtend<published.CreateEventRequest>();
    expectTypeOf<published.CreateEventRequest>().toExtend<CreateEventRequest>();
    expectTypeOf<RunCreatedEventRequest>().toExtend<published.RunCreatedEventRequest>();
    expectTypeOf<published.RunCreatedEventRequest>().toExtend<RunCreatedEventRequest>();
    expectTypeOf<CreateEventParams>().toExtend<published.CreateEventParams>();
    expectTypeOf<published.CreateEventParams>().toExtend<CreateEventParams>();
    expectTypeOf<EventResult>().toExtend<published.EventResult>();
    expectTypeOf<published.EventResult>().toExtend<EventResult>();
  });

  it("has the published storage, streams and queue, in both directions", () => {
    expectTypeOf<Storage>().toExtend<published.Storage>();
    expectTypeOf<published.Storage>().toExtend<Storage>();
    expectTypeOf<Streamer>().toExtend<published.Streamer>();
    expectTypeOf<published.Streamer>().toExtend<Streamer>();
    expectTypeOf<QueuePayload>().toExtend<published.QueuePayload>();
    expectTypeOf<published.QueuePayload>().toExtend<QueuePayload>();
    expectTypeOf<QueueOptions>().toExtend<published.QueueOptions>();
    expectTypeOf<published.QueueOptions>().toExtend<QueueOptions>();
  });

  it("is the published World, in both directions", () => {
    expectTypeOf<World<published.MessageId>>().toExtend<published.World>();
    expectTypeOf<published.World>().toExtend<World>();
    expectTypeOf<published.World>().toExtend<World<published.MessageId>>();
  });

  it("lets neither side drop a field", () => {
    expectTypeOf<keyof Step>().toEqualTypeOf<keyof published.Step>();
    expectTypeOf<keyof Hook>().toEqualTypeOf<keyof published.Hook>();
    expectTypeOf<keyof Wait>().toEqualTypeOf<keyof published.Wait>();
    expectTypeOf<keyof EventResult>().toEqualTypeOf<keyof published.EventResult>();
    expectTypeOf<keyof CreateEventParams>().toEqualTypeOf<keyof published.CreateEventParams>();
    expectTypeOf<keyof QueueOptions>().toEqualTypeOf<keyof published.QueueOptions>();
    expectTypeOf<keyof World>().toEqualTypeOf<Exclude<keyof published.World, "analytics">>();
  });
});
