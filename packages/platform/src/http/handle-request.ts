import type { ResponseBody, Body, Operation, Params, Query } from '@millrace/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TransactionOptions, Tx } from '../db/index.ts';
import { activeTraceparent } from '../telemetry/index.ts';
import { sendResult } from './send-result.ts';
import { readIdempotencyKey, runIdempotent, type OperationResult } from './idempotency/idempotency.ts';
import { ignoredFieldsHeader } from './input/ignored-fields.ts';
import type { ServerContext } from './server-context.ts';
import { headerText } from './request-telemetry.ts';
import { actorOf } from './principal.ts';
import { Reply } from './response/reply.ts';
import { hashRequest } from './idempotency/request-hash.ts';
import { stateOf } from './request-state.ts';
import type { HandlerInput, Handler, RequestContext, Transact } from './types.ts';
import { validateInput } from './input/validate.ts';
import type { RawInput } from './input/validate.ts';

/** Runs an admitted request: validates it, calls the handler and sends the result. */
export async function handleRequest<Op extends Operation>(
  server: ServerContext,
  operation: Op,
  handler: Handler<Op>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  // A missing body is treated as an empty object, so that the error names the missing fields.
  const noBody = operation.signedBody === true ? '' : {};
  const raw: RawInput = { params: request.params, query: request.query, body: request.body ?? noBody };
  const idempotencyKey =
    operation.idempotency === 'key'
      ? readIdempotencyKey(headerText(request.headers['idempotency-key']))
      : undefined;
  const input = validateInput(operation, raw);
  if (input.ignoredFields.length > 0)
    reply.header('x-ignored-fields', ignoredFieldsHeader(input.ignoredFields));
  const context = contextOf(request, idempotencyKey, input.ignoredFields);
  const call: HandlerInput<Op> = {
    // Safe: the schemas of this operation produced these values.
    params: input.params as Params<Op>,
    query: input.query as Query<Op>,
    body: input.body as Body<Op>,
    context,
    transact: createTransact(server, operation, context, raw),
  };
  await sendResult(server, operation, await handler(call), request, reply);
}

function contextOf(
  request: FastifyRequest,
  idempotencyKey: string | undefined,
  ignoredFields: readonly string[],
): RequestContext {
  const state = stateOf(request);
  return {
    requestId: state.requestId,
    principal: state.principal,
    person: state.person,
    clientIp: state.clientIp,
    traceparent: activeTraceparent(),
    idempotencyKey,
    ignoredFields,
    log: state.log,
    signal: state.left.signal,
    wantsEventStream: /\btext\/event-stream\b/.test(request.headers.accept ?? ''),
    url: request.url,
    header: (name) => headerText(request.headers[name]),
  };
}

function createTransact<Op extends Operation>(
  server: ServerContext,
  operation: Op,
  context: RequestContext,
  raw: RawInput,
): Transact<Op> {
  return async (
    options: TransactionOptions,
    work: (tx: Tx) => Promise<OperationResult<Op>>,
  ): Promise<Reply<ResponseBody<Op>>> => {
    const { db, clock } = server;
    if (db === undefined)
      throw new Error(`${operation.id} needs a database, but the server was created without one.`);
    const { principal, idempotencyKey } = context;
    if (idempotencyKey === undefined || principal === null) {
      const effect = await db.transaction(options, work);
      return new Reply(effect.body, effect.headers ?? {});
    }
    const { orgId, mode, userId } = principal;
    const hash = hashRequest({ operationId: operation.id, mode, userId, ...raw });
    const keyed = { orgId, mode, actor: actorOf(principal), key: idempotencyKey, hash };
    return runIdempotent(db, clock, operation, keyed, options, work);
  };
}
