export { ApiPromise, type WithResponse } from './api-promise.ts';
export { Millrace, type AnyCall, type Caller } from './client.ts';
export type { Clock } from './clock.ts';
export {
  AbortedError,
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  InsufficientBalanceError,
  InsufficientCapacityError,
  MillraceError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  ServerError,
  StreamInterruptedError,
  TimeoutError,
  ValidationError,
  WaitFailedError,
  type Issue,
} from './errors.ts';
export { streamMethods, namespaces } from './namespaces.ts';
export type { ListShape, OperationEntry } from './operation-entry.ts';
export type { EventType, MillraceEvent, OperationId, OperationTypes, Reason } from './operation-types.ts';
export { operations, type CallableId } from './operations.generated.ts';
export type { ClientOptions, RequestOptions, SessionOptions } from './options.ts';
export { Page, PagePromise } from './page.ts';
export type { CallInput } from './request.ts';
export type * from './resources.generated.ts';
export { EventStream, StreamPromise } from './stream.ts';
export type { Output, Input, Item, StreamItem } from './types.ts';
export { version } from './version.generated.ts';
export type { Instance, Rental, RentalStep, Volume, WaitOptions, WaitStep } from './wait.ts';
