import { renderFault, type FaultTarget } from '@millrace/platform/fault';
import { ignoredFieldsHeader } from '@millrace/platform/http/ignored-fields';
import { rateHeaders } from '@millrace/platform/http/rate-headers';
import type { RateDecision } from '@millrace/platform/limiter';
import type { ServerResponse } from 'node:http';

/** How the gateway answers. Every answer carries the id of its request, and the limits once they are known. */

const inference: FaultTarget = { source: 'interface', errorFamily: 'inference' };

export type Headers = Record<string, string>;

function idHeaders(requestId: string): Headers {
  return { 'x-inference-request-id': requestId, 'inference-id': requestId };
}

export function answerHeaders(
  requestId: string,
  rate: RateDecision | null,
  ignored: readonly string[] = [],
): Headers {
  const headers = rate === null ? idHeaders(requestId) : { ...idHeaders(requestId), ...rateHeaders(rate) };
  if (ignored.length > 0) headers['x-ignored-fields'] = ignoredFieldsHeader(ignored);
  return headers;
}

export function sendJson(response: ServerResponse, status: number, headers: Headers, body: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

/**
 * For a client that has not taken all that is there for it: unless it takes some within this time its connection is cut, so
 * that it holds neither an engine nor memory.
 */
export function limitUnread(response: ServerResponse, unreadMs: number): void {
  if (response.writableLength > 0) response.setTimeout(unreadMs);
}

export function sendFault(
  response: ServerResponse,
  error: unknown,
  requestId: string,
  headers: Headers,
): number {
  const { status, headers: own, body } = renderFault(error, inference, requestId);
  sendJson(response, status, { ...headers, ...own }, JSON.stringify(body));
  return status;
}

/** After the first byte there is no status any more: one event says what happened, and no `[DONE]` follows. */
export function sendStreamFault(response: ServerResponse, error: unknown, requestId: string): void {
  const { body } = renderFault(error, inference, requestId);
  response.end(`data: ${JSON.stringify({ error: body['error'], object: 'error' })}\n\n`);
}
