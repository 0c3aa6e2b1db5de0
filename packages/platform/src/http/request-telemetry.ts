import { SpanKind, SpanStatusCode, context, trace } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { msToSeconds } from '../money/index.ts';
import { contextFromTraceparent, preparedHistogram, type Recorder } from '../telemetry/index.ts';
import { clientIp } from './client-ip.ts';
import { demoHeader } from './demo-header.ts';
import type { ServerContext } from './server-context.ts';
import { setState, stateOf, type RequestState } from './request-state.ts';

const durations = preparedHistogram('http_server_request_duration_seconds');
/** By operation, method and status, because preparing labels costs more than a record. A look-up allocates nothing. */
const recorders = new Map<string, Map<string, Map<number, Recorder>>>();

/** Runs first for every request: assigns its id, client address, span and logger. */
export function beginRequest(server: ServerContext, request: FastifyRequest, reply: FastifyReply): void {
  const requestId = server.ids.next('req');
  const socketAddress = request.socket.remoteAddress ?? '';
  const address = clientIp({
    socketAddress,
    forwardedFor: headerText(request.headers['x-forwarded-for']),
    trusted: server.trusted,
  });
  const span = startSpan(request, server.trusted.includes(socketAddress));
  span.setAttribute('millrace.request_id', requestId);
  const left = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort();
  });
  setState(request, {
    requestId,
    clientIp: address,
    startedMs: server.clock.monotonicMs(),
    span,
    context: trace.setSpan(context.active(), span),
    log: server.log.child({ requestId }),
    left,
    operation: null,
    errorTarget: null,
    principal: null,
    person: null,
    reason: null,
  });
  reply.headers({
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...(server.isDemo && { [demoHeader.name]: demoHeader.value }),
  });
}

/** Continues the trace of a trusted proxy. Others are only linked: as a parent they could force recording. */
function startSpan(request: FastifyRequest, fromTrustedProxy: boolean) {
  const claimed = contextFromTraceparent(headerText(request.headers['traceparent']));
  const claimedSpan = trace.getSpanContext(claimed);
  const parent = fromTrustedProxy ? claimed : contextFromTraceparent(undefined);
  const links = !fromTrustedProxy && claimedSpan !== undefined ? [{ context: claimedSpan }] : [];
  return trace
    .getTracer('millrace')
    .startSpan(`HTTP ${request.method}`, { kind: SpanKind.SERVER, links }, parent);
}

/** Runs last: logs the request, records its duration and ends the span. */
export function endRequest(server: ServerContext, request: FastifyRequest, reply: FastifyReply): void {
  const state = stateOf(request);
  const tookMs = server.clock.monotonicMs() - state.startedMs;
  const operation = state.operation?.id ?? 'none';
  const status = reply.raw.statusCode;
  recorderOf(operation, request.method, status).record(msToSeconds(tookMs));
  if (state.span.isRecording()) describeResponse(state, request.method, status);
  state.span.end();
  // Probes arrive every few seconds, so their routes log successes at level debug.
  const quiet = request.routeOptions.logLevel === 'debug' && status < 400;
  state.log[quiet ? 'debug' : 'info'](
    {
      operation,
      method: request.method,
      status,
      tookMs: Math.round(tookMs),
      clientIp: state.clientIp,
      ...(state.operation === null ? { path: pathOf(request).slice(0, 200) } : {}),
      ...(state.principal === null ? {} : { orgId: state.principal.orgId, keyId: state.principal.keyId }),
      ...(state.person === null ? {} : { userId: state.person.userId }),
      ...(state.reason === null ? {} : { reason: state.reason }),
    },
    'request',
  );
}

function recorderOf(operation: string, method: string, status: number): Recorder {
  const known = recorders.get(operation)?.get(method)?.get(status);
  if (known !== undefined) return known;
  const recorder = durations.with({ operation, method, status });
  const ofOperation = recorders.get(operation) ?? new Map<string, Map<number, Recorder>>();
  const ofMethod = ofOperation.get(method) ?? new Map<number, Recorder>();
  recorders.set(operation, ofOperation.set(method, ofMethod.set(status, recorder)));
  return recorder;
}

function describeResponse({ span, operation }: RequestState, method: string, status: number): void {
  span.setAttributes({ 'http.request.method': method, 'http.response.status_code': status });
  if (operation !== null) {
    span.setAttributes({ 'http.route': operation.path, 'millrace.operation': operation.id });
    span.updateName(`${method} ${operation.path}`);
  }
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The path without the query, which contains tokens in links of emails and redirects of OIDC providers. */
export function pathOf(request: Pick<FastifyRequest, 'url'>): string {
  return request.url.split('?', 1)[0] ?? '';
}

/** Node joins most repeated headers itself; others arrive as lists. */
export function headerText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
