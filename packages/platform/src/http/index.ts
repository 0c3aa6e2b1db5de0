export { createHttpServer } from './server.ts';
export { requireSessionUser, requirePrincipal, actorOf } from './principal.ts';
export { requireSameOrigin } from './identify-caller.ts';
export { bytesReply, preparedReply, reply, sse } from './response/reply.ts';
export type { BytesReply, Reply, ReplyBytes, SseEvent, SseReply, SseStream } from './response/reply.ts';
export { ignoredFieldsHeader } from './input/ignored-fields.ts';
export { decodeCursor, encodeCursor, linkNext, toPage } from './pager.ts';
export type { Cursor, Page } from './pager.ts';
export {
  deleteExpiredOperations,
  findOperationById,
  findOperationByKey,
} from './idempotency/idempotency.store.ts';
export type { StoredOperation } from './idempotency/idempotency.store.ts';
export type { Actor, Mode } from '../envelope/index.ts';
export { createCidrSet } from './client-ip.ts';
export { defaultHttpLimits } from './limits.ts';
export type {
  Authenticate,
  HandlerInput,
  Handler,
  HandlerResult,
  HttpLimits,
  HttpServer,
  HttpServerOptions,
  SessionUser,
  Principal,
  PrincipalLimits,
  RequestContext,
  ServedContract,
  Sessions,
  Transact,
} from './types.ts';
export type { OperationResult } from './idempotency/idempotency.ts';
export type { DeprecationNotice } from './response/deprecation.ts';
