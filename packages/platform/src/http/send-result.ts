import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { Operation } from '@millrace/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '../fault/index.ts';
import { logFailure } from '../log/index.ts';
import { isStillAdmitted } from './admission.ts';
import { droppedFields } from './input/ignored-fields.ts';
import type { ServerContext } from './server-context.ts';
import { BytesReply, Reply, SseReply } from './response/reply.ts';
import { stateOf } from './request-state.ts';
import { sseHeaders, streamEvents } from './response/sse.ts';

/** Sends any kind of handler result. */
export async function sendResult(
  context: ServerContext,
  operation: Operation,
  result: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (reply.sent) return;
  if (result instanceof SseReply) {
    await sendStream(context, operation, result, request, reply);
    return;
  }
  if (result instanceof BytesReply) {
    await sendBytes(context, operation, result, request, reply);
    return;
  }
  const body: unknown = result instanceof Reply ? result.body : result;
  if (context.validateResponses) validateResponse(operation, body);
  if (result instanceof Reply) addHeaders(reply, result.headers);
  if (operation.response.revalidates === true && matchesEtag(request, reply.getHeader('etag'))) {
    await reply.code(304).send();
    return;
  }
  reply.code(operation.response.status);
  if (operation.response.status === 204) {
    await reply.send();
    return;
  }
  const { contentType } = operation.response;
  if (contentType !== undefined && typeof body === 'string') {
    await reply.header('content-type', contentType).send(body);
    return;
  }
  const text = result instanceof Reply ? result.text : undefined;
  await reply.header('content-type', 'application/json; charset=utf-8').send(text ?? JSON.stringify(body));
}

async function sendBytes(
  context: ServerContext,
  operation: Operation,
  { headers, produce }: BytesReply,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (operation.response.revalidates === true && matchesEtag(request, headers['etag'])) {
    // These headers describe the body, which a 304 does not have.
    const { 'content-encoding': _encoding, 'content-length': _length, ...rest } = headers;
    addHeaders(reply, rest);
    await reply.code(304).send();
    return;
  }
  let bytes = await produce();
  // Added only after `produce`, because a fault has its own, uncompressed body.
  addHeaders(reply, headers);
  const { contentType } = operation.response;
  if (context.validateResponses && contentType === undefined) {
    bytes = Buffer.isBuffer(bytes) ? bytes : await buffer(bytes);
    const isPacked = reply.getHeader('content-encoding') === 'gzip';
    validateResponse(operation, JSON.parse((isPacked ? gunzipSync(bytes) : bytes).toString('utf8')));
  }
  reply
    .code(operation.response.status)
    .header('content-type', contentType ?? 'application/json; charset=utf-8');
  if (!Buffer.isBuffer(bytes)) {
    const inTime = context.clock.after(context.limits.sendTimeoutMs, () => reply.raw.destroy());
    reply.raw.once('close', inTime);
  }
  await reply.send(bytes);
}

/** Whether If-None-Match contains this ETag, alone, in a list or as a weak one (RFC 9110, 13.1.2). */
function matchesEtag(request: FastifyRequest, etag: unknown): boolean {
  const named = (request.headers['if-none-match'] ?? '').split(',').map((each) => each.trim());
  return etag !== undefined && named.some((each) => each === '*' || each.replace(/^W\//, '') === etag);
}

/** Several modules may add to the `Link` header; every other header has one source. */
function addHeaders(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  const earlier = reply.getHeader('link');
  reply.headers(headers);
  const { link } = headers;
  if (earlier !== undefined && link !== undefined) reply.header('link', `${String(earlier)}, ${link}`);
}

/** Throws in development if a response violates its schema. */
function validateResponse(operation: Operation, body: unknown): void {
  if (operation.response.status === 204) return;
  const parsed = operation.response.schema.safeParse(body);
  const problems = parsed.success
    ? droppedFields(body, parsed.data).map((field) => `${field}: not in the schema`)
    : parsed.error.issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
  if (problems.length === 0) return;
  throw new Fault('INTERNAL', {
    internal: `${operation.id} responded outside its schema: ${problems.slice(0, 10).join('; ')}`,
  });
}

async function sendStream(
  context: ServerContext,
  operation: Operation,
  stream: SseReply,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  reply.hijack();
  const response = reply.raw;
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...sseHeaders })) {
    if (value !== undefined) response.setHeader(name, value);
  }
  response.writeHead(operation.response.status);
  response.flushHeaders();
  try {
    await streamEvents(stream, {
      response,
      clock: context.clock,
      limits: context.limits,
      draining: context.draining,
      stillAdmitted: () => isStillAdmitted(context, operation, request),
    });
  } catch (error) {
    // The headers were sent, so no error status is possible; the client reconnects at its position.
    logFailure(stateOf(request).log, error, 'event stream failed', { operation: operation.id });
  }
}
