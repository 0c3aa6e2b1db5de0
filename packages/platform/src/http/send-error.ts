import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import type { Operation } from '@millrace/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isUnavailable } from '../db/index.ts';
import { Fault, isFault, renderFault } from '../fault/index.ts';
import { logFailure } from '../log/index.ts';
import type { ServerContext } from './server-context.ts';
import { findState } from './request-state.ts';

/** Faults for the framework's own errors. */
const frameworkFaults: Readonly<Record<string, () => Fault>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new Fault('BODY_TOO_LARGE'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new Fault('UNSUPPORTED_MEDIA_TYPE'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new Fault('MALFORMED_JSON', {
      message: 'The length of the request body differs from its Content-Length.',
    }),
  FST_ERR_CTP_INVALID_JSON_BODY: () => new Fault('MALFORMED_JSON'),
  FST_ERR_BAD_URL: () => new Fault('ROUTE_NOT_FOUND', { message: 'The path is not a valid URL path.' }),
  FST_ERR_MAX_PARAM_LENGTH: () => new Fault('ROUTE_NOT_FOUND'),
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: () => new Fault('UNSUPPORTED_MEDIA_TYPE'),
  FST_ERR_HANDLER_TIMEOUT: () =>
    new Fault('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1, internal: 'the handler timed out' }),
};

function toFault(error: unknown): unknown {
  if (isFault(error) || !(error instanceof Error)) return error;
  if (isUnavailable(error)) {
    const internal = `database unavailable: ${error.message}`;
    return new Fault('SERVICE_UNAVAILABLE', { retryAfterSeconds: 1, internal, cause: error });
  }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = frameworkFaults[code]?.();
  if (known !== undefined) return known;
  // Later releases of the framework may have errors that are not listed above.
  const refused = code.startsWith('FST_ERR_') && 'statusCode' in error && isClientError(error.statusCode);
  return refused ? new Fault('VALIDATION_FAILED', { ...unreadable, cause: error }) : error;
}

const unreadable = {
  message: 'The service cannot read this request.',
  suggestion: 'Check its method and headers against GET /v2/openapi.json.',
};

function isClientError(status: unknown): boolean {
  return typeof status === 'number' && status >= 400 && status < 500;
}

/** Converts every thrown value to a response. */
export function sendError(
  context: ServerContext,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const state = findState(request);
  const error = toFault(thrown);
  const operation = state?.operation ?? null;
  const requestId = state?.requestId ?? context.ids.next('req');
  const rendered = renderFault(error, operation ?? state?.errorTarget ?? null, requestId);
  if (state !== undefined) state.reason = isFault(error) ? error.reason : 'INTERNAL';
  // The request's log line already reports client errors; only internal errors get another line.
  if (rendered.status >= 500)
    logFailure(state?.log ?? context.log, error, 'request failed', { operation: operation?.id });
  reportUndeclaredStatus(context, operation, rendered.status);
  if (reply.sent) return;
  const text = JSON.stringify(rendered.body);
  reply.code(rendered.status).headers({
    'x-request-id': requestId,
    ...rendered.headers,
    'content-type': 'application/json; charset=utf-8',
  });
  if (!hasUnreadBody(request.raw)) {
    void reply.send(text);
    return;
  }
  // The rest of the body might never arrive, so the connection cannot serve another request.
  void reply
    .headers({ connection: 'close', 'content-length': Buffer.byteLength(text) })
    .send(replyThenDrain(context, request.raw, text));
}

function hasUnreadBody(request: IncomingMessage): boolean {
  const { headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return hasBody && !request.complete && !request.readableEnded && !request.destroyed;
}

/**
 * Closing a connection with unread bytes resets it, and the client may lose the response. So the whole response is
 * sent, but the connection stays open until the client has sent its body, within the limits of the drain.
 */
function replyThenDrain(context: ServerContext, request: IncomingMessage, text: string): Readable {
  const response = new PassThrough();
  response.write(text);
  context.bodyDrain.drain(request, () => response.end());
  return response;
}

function reportUndeclaredStatus(context: ServerContext, operation: Operation | null, status: number): void {
  if (operation === null || status === 410 || operation.errors.includes(status)) return;
  context.log.error(
    { operation: operation.id, status },
    'operation responded with a status that its contract does not declare',
  );
}
