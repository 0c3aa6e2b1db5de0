import { renderFault, type FaultTarget, type RenderedFault } from '@millrace/platform/fault';
import type { BodyDrain } from '@millrace/platform/http/body-drain';
import { ignoredFieldsHeader } from '@millrace/platform/http/ignored-fields';
import { rateHeaders } from '@millrace/platform/http/rate-headers';
import type { RateDecision } from '@millrace/platform/limiter';
import { noteError } from './request-metrics.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Sends gateway responses. Each has its request id, and the rate limits once known. */

export const inferenceFaultTarget: FaultTarget = { source: 'interface', errorFamily: 'inference' };

export type ResponseHeaders = Record<string, string>;

function idHeaders(requestId: string): ResponseHeaders {
  return { 'x-inference-request-id': requestId, 'inference-id': requestId };
}

export function responseHeaders(
  requestId: string,
  rate: RateDecision | null,
  ignored: readonly string[] = [],
): ResponseHeaders {
  const headers = rate === null ? idHeaders(requestId) : { ...idHeaders(requestId), ...rateHeaders(rate) };
  if (ignored.length > 0) headers['x-ignored-fields'] = ignoredFieldsHeader(ignored);
  return headers;
}

export function sendJson(to: ServerResponse, status: number, headers: ResponseHeaders, body: string): void {
  if (to.headersSent || to.destroyed) return;
  const length = Buffer.byteLength(body);
  to.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': length });
  to.end(body);
}

/** Cuts the connection of a client that reads nothing for this time, so that it holds neither an engine nor memory. */
export function startUnreadTimeout(response: ServerResponse, unreadMs: number): void {
  if (response.writableLength > 0) response.setTimeout(unreadMs);
}

export function sendFault(
  response: ServerResponse,
  error: unknown,
  requestId: string,
  headers: ResponseHeaders,
): number {
  noteError(response, error);
  const { status, headers: own, body } = renderFault(error, inferenceFaultTarget, requestId);
  sendJson(response, status, { ...headers, ...own }, JSON.stringify(body));
  return status;
}

/**
 * Refuses a request whose body is still arriving. Closing a connection with unread bytes resets it and can lose the response, so
 * the response is sent first and further bytes are read and dropped.
 */
export function sendFaultAndDrain(
  request: IncomingMessage,
  response: ServerResponse,
  drain: BodyDrain,
  { status, headers, body }: RenderedFault,
): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  const content = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, { ...headers, connection: 'close', ...content });
  response.write(text);
  drain.drain(request, () => response.end());
}

/** After the first byte the status is already sent: one error event without `[DONE]` reports the failure. */
export function sendStreamFault(response: ServerResponse, error: unknown, requestId: string): void {
  noteError(response, error);
  const { body } = renderFault(error, inferenceFaultTarget, requestId);
  response.end(`data: ${JSON.stringify({ error: body['error'], object: 'error' })}\n\n`);
}
