/**
 * What a run may be given from outside: who it is for, long-term memory, and the lifecycle it is one operation of. Ports only: nothing
 * here is implemented in this package, and any object of the shape will do.
 */

/** Who a run is for. */
export interface Principal {
  tenantId?: string;
  userId?: string;
  scopes?: readonly string[];
  roles?: readonly string[];
  /** How they proved it. */
  method?: string;
  claims?: Readonly<Record<string, unknown>>;
}

/** Where items of long-term memory lie. */
export type StoreNamespace = readonly string[];

/** One item of long-term memory. Instants are ISO-8601. */
export interface StoreItem<V = unknown> {
  namespace: string[];
  key: string;
  value: V;
  createdAt: string;
  updatedAt: string;
  expiresAt?: string;
  /** How well it fits what was searched for, from 0 to 1. */
  score?: number;
}

export interface StorePutOptions {
  /** How long it is kept, in milliseconds. */
  ttlMs?: number;
  index?: readonly string[] | false;
}

export interface StoreSearchOptions {
  query?: string;
  filter?: Record<string, unknown>;
  limit?: number;
  offset?: number;
}

/** Long-term memory: what outlives threads. */
export interface Store {
  put<V = unknown>(
    namespace: StoreNamespace,
    key: string,
    value: V,
    options?: StorePutOptions,
  ): Promise<void> | void;
  get<V = unknown>(
    namespace: StoreNamespace,
    key: string,
  ): Promise<StoreItem<V> | undefined> | StoreItem<V> | undefined;
  delete(namespace: StoreNamespace, key: string): Promise<void> | void;
  search<V = unknown>(
    namespacePrefix: StoreNamespace,
    options?: StoreSearchOptions,
  ): Promise<Array<StoreItem<V>>> | Array<StoreItem<V>>;
  listNamespaces(options?: { prefix?: StoreNamespace; limit?: number }): Promise<string[][]> | string[][];
}

/** What kind of operation a lifecycle admits. A workflow's run is a `graph`. */
export type OperationFamily =
  | "completion"
  | "embedding"
  | "voice"
  | "realtime"
  | "telephony"
  | "image"
  | "batch"
  | "job"
  | "graph"
  | "agent";

export interface OperationDescriptor {
  family: OperationFamily;
  operation: string;
  requestId: string;
  provider?: string;
  model?: string;
  userId?: string;
  tenantId?: string;
  metadata?: Record<string, unknown>;
}

export interface OperationStartOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  idempotencyKey?: string;
  traceContext?: Record<string, string>;
}

export interface OperationResultInfo {
  cost?: number;
  cacheHit?: boolean;
  provider?: string;
  model?: string;
  metadata?: Record<string, unknown>;
}

/** What an admitted operation may hand on. */
export interface ProviderCallContext {
  requestId: string;
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline?: number;
  traceContext?: Record<string, string>;
  idempotencyKey?: string;
}

/** An admitted operation; a run ends it once, by `succeed` or `fail`. */
export interface OperationTicket {
  readonly descriptor: OperationDescriptor;
  readonly context: ProviderCallContext;
  reserve(estimate: number | undefined): Promise<void>;
  succeed(info?: OperationResultInfo): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/** What admits runs: `start` throws to refuse one. */
export interface OperationLifecycleLike {
  start(
    operation: Omit<OperationDescriptor, "requestId"> & { requestId?: string },
    options?: OperationStartOptions,
  ): Promise<OperationTicket>;
}
