import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Operation } from '@millrace/contract';
import { context } from '@opentelemetry/api';
import Fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { Fault } from '../fault/index.ts';
import { admit, admitAnonymous, admitFile } from './admission.ts';
import { createBodyBudget } from './body/body-budget.ts';
import { createBodyDrain } from './body/body-drain.ts';
import { readText } from './body-text.ts';
import { createCidrSet } from './client-ip.ts';
import { sendConnectionError } from './response/connection-error.ts';
import type { MisroutedFinder } from './misrouted.ts';
import { sendError } from './send-error.ts';
import { handleRequest } from './handle-request.ts';
import type { ServerContext } from './server-context.ts';
import { defaultHttpLimits } from './limits.ts';
import { beginRequest, endRequest, pathOf } from './request-telemetry.ts';
import { findState, stateOf } from './request-state.ts';
import { createMethodFinder, createOperationFinder, createTargetFinder, routerPath } from './route-path.ts';
import type { Handler, HttpServer, HttpServerOptions } from './types.ts';

/**
 * Creates an HTTP server for operations of the contract. Every request passes the same steps in this order: request id,
 * client address, authentication, rate limit, scope, validation, idempotency, handler, response check.
 */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const drain = new AbortController();
  const limits = { ...defaultHttpLimits, ...options.limits };
  const server: ServerContext = {
    contract: options.contract,
    authenticate: options.authenticate,
    sessions: options.sessions,
    limiter: options.limiter,
    log: options.log,
    clock: options.clock,
    ids: options.ids,
    db: options.db,
    trusted: createCidrSet(options.trustedProxies),
    limits,
    bodies: createBodyBudget(limits.bodies, limits.bodyBytes),
    bodyDrain: createBodyDrain(options.clock),
    validateResponses: options.validateResponses,
    isDemo: options.isDemo ?? false,
    draining: drain.signal,
    leaving: options.leaving === undefined ? drain.signal : AbortSignal.any([options.leaving, drain.signal]),
  };
  const fastify = createFastify(server, options.tls);
  const served = new Set<string>();
  installHooks(server, fastify, served, options.misrouted);
  const dropSilent = trackUnusedConnections(fastify.server);

  let closing: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    drain.abort(new Error('the server drains'));
    closing ??= fastify.close().then(() => undefined);
    dropSilent();
    return closing;
  };
  return {
    fastify,
    serve: (operation, handler) => {
      if (options.contract.operations[operation.id] !== operation) {
        throw new Error(`${operation.id} is not an operation of the contract of this server.`);
      }
      if (served.has(operation.id)) throw new Error(`${operation.id} is already served.`);
      served.add(operation.id);
      addRoutes(server, fastify, operation, handler);
    },
    served: () => [...served],
    admitAnonymous: (request, reply) => admitAnonymous(server, request, reply),
    clientIpOf: (request) => stateOf(request).clientIp,
    admitFile: (request, reply) => admitFile(server, request, reply),
    readText: (request, payload, reading) => readText(server, request, payload, reading),
    listen: async (at) => {
      await fastify.listen(at);
      const address = fastify.server.address();
      if (address === null || typeof address === 'string') throw new Error('The server has no port.');
      return { host: address.address, port: address.port };
    },
    drain: stop,
    close: stop,
  };
}

/** Node treats a connection without a request as busy, so a drain would wait. The result closes such ones. */
function trackUnusedConnections(server: Server): () => void {
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  return () => {
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  };
}

function createFastify(server: ServerContext, tls: HttpServerOptions['tls']): FastifyInstance {
  const { limits } = server;
  const nodeOptions = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    // Node would refuse a request without Host with an empty response; the first hook sends an error body instead.
    requireHostHeader: false,
    // How often Node checks for slow requests.
    connectionsCheckingInterval: 5_000,
  };
  const shared = {
    logger: false,
    exposeHeadRoutes: false,
    // Request ids of clients are not accepted, because they could repeat or imitate another request's id.
    requestIdHeader: false as const,
    bodyLimit: limits.bodyBytes,
    connectionTimeout: limits.connectionTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    handlerTimeout: limits.handlerTimeoutMs,
    maxRequestsPerSocket: limits.maxRequestsPerSocket,
    forceCloseConnections: 'idle' as const,
    // Requests in flight when the drain begins still get a response.
    return503OnClosing: false,
    onProtoPoisoning: 'error' as const,
    onConstructorPoisoning: 'error' as const,
    routerOptions: { maxParamLength: 500, ignoreTrailingSlash: false, caseSensitive: true },
    frameworkErrors: (error, request, reply) => void sendUnroutableError(server, error, request, reply),
    clientErrorHandler: (error, socket) =>
      sendConnectionError(
        { clock: server.clock, ids: server.ids, target: null, headers: (id) => ({ 'x-request-id': id }) },
        error,
        socket,
      ),
  } satisfies FastifyServerOptions;
  if (tls === undefined) return Fastify({ ...shared, http: nodeOptions });
  const https = { ...nodeOptions, cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2' as const };
  // The server uses only properties that HTTP and HTTPS instances share.
  return Fastify({ ...shared, https }) as unknown as FastifyInstance;
}

function installHooks(
  server: ServerContext,
  fastify: FastifyInstance,
  served: ReadonlySet<string>,
  misrouted: MisroutedFinder | undefined,
): void {
  const admitUnrouted = createUnroutedAdmission(server, served, misrouted);
  fastify.addHook('onRequest', async (request, reply) => {
    beginRequest(server, request, reply);
    // Admission runs before the body is read, so that the body of a refused request is never read.
    if (request.is404) await admitUnrouted(request, reply);
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      await admitAnonymous(server, request, reply);
      throw new Fault('VALIDATION_FAILED', {
        message: 'The request has no Host header.',
        suggestion: 'Send the header Host, which HTTP/1.1 requires.',
      });
    }
  });
  // A response during a drain closes its connection, which would otherwise delay the drain.
  fastify.addHook('onSend', async (_request, reply) => {
    if (server.leaving.aborted) reply.header('connection', 'close');
  });
  fastify.addHook('onResponse', async (request, reply) => endRequest(server, request, reply));
  fastify.setErrorHandler((error, request, reply) => sendError(server, error, request, reply));
  const methodsAt = createMethodFinder(Object.values(server.contract.operations));
  fastify.setNotFoundHandler(async (request, reply) => {
    if (stateOf(request).operation !== null) throw new Fault('OPERATION_NOT_IMPLEMENTED');
    const methods = methodsAt(pathOf(request));
    if (methods.length === 0 || methods.includes(request.method)) throw new Fault('ROUTE_NOT_FOUND');
    reply.header('allow', methods.join(', '));
    throw new Fault('METHOD_NOT_ALLOWED', { suggestion: `Use ${methods.join(' or ')}.` });
  });
  // Node would respond 417 to an unknown expectation; RFC 9110 allows ignoring it.
  fastify.server.on('checkExpectation', (request, response) => {
    fastify.server.emit('request', request, response);
  });
  installBodyParsers(server, fastify);
}

/** Admits requests without a route. */
function createUnroutedAdmission(
  server: ServerContext,
  served: ReadonlySet<string>,
  findMisrouted: MisroutedFinder = () => null,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const findOperation = createOperationFinder(Object.values(server.contract.operations));
  const targetAt = createTargetFinder(Object.values(server.contract.operations));
  return async (request, reply) => {
    const operation = findOperation(request.method, pathOf(request));
    stateOf(request).errorTarget = targetAt(pathOf(request));
    const misrouted = findMisrouted(pathOf(request), request.headers.host);
    if (misrouted !== null) {
      await admitAnonymous(server, request, reply);
      throw misrouted.fault;
    }
    if (operation === undefined || served.has(operation.id)) {
      await admitAnonymous(server, request, reply);
      return;
    }
    // An operation without a handler has the same checks as others, so that unauthorized callers learn nothing.
    const state = stateOf(request);
    state.operation = operation;
    await context.with(state.context, () => admit(server, operation, request, reply));
  };
}

/** The router rejects some paths before any hook, so this does the work of the hooks. */
async function sendUnroutableError(
  server: ServerContext,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  beginRequest(server, request, reply);
  reply.raw.once('close', () => endRequest(server, request, reply));
  const rejection: unknown = await admitAnonymous(server, request, reply).catch((thrown: unknown) => thrown);
  sendError(server, rejection ?? error, request, reply);
}

/** Accepts only JSON bodies. An operation without a body ignores any body. */
function installBodyParsers(server: ServerContext, fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  const parseJson = fastify.getDefaultJsonParser('error', 'error');
  fastify.addContentTypeParser('application/json', (request, payload, done) => {
    const parse = (text: string): void => {
      if (findState(request)?.operation?.signedBody === true) done(null, text);
      else if (text.trim() === '' || !takesBody(request)) done(null, undefined);
      else
        void parseJson(request, text, (error, value) =>
          error
            ? done(new Fault('MALFORMED_JSON', { message: describeMalformedJson(text), cause: error }))
            : done(null, value),
        );
    };
    readText(server, request, payload, {
      maxBytes: server.limits.bodyBytes,
      done: parse,
      fail: (error) => done(error as Error),
    });
  });
  fastify.addContentTypeParser('*', (request, payload, done) => {
    payload.resume();
    if (takesBody(request)) done(new Fault('UNSUPPORTED_MEDIA_TYPE'));
    else done(null, undefined);
  });
}

/** The framework does not expose the cause, and V8's message quotes the body, so only the position is used. */
function describeMalformedJson(text: string): string {
  try {
    JSON.parse(text);
    return 'The request body contains a key named __proto__ or constructor.';
  } catch (error) {
    const [, place] = /\((line \d+ column \d+)\)$/.exec(error instanceof Error ? error.message : '') ?? [];
    const position = place === undefined ? '' : `: the error is at ${place}`;
    return `The request body is not valid JSON${position}.`;
  }
}

function takesBody(request: FastifyRequest): boolean {
  return !request.is404 && findState(request)?.operation?.body !== undefined;
}

function addRoutes<Op extends Operation>(
  server: ServerContext,
  fastify: FastifyInstance,
  operation: Op,
  handler: Handler<Op>,
): void {
  for (const path of [operation.path, ...(operation.aliases ?? [])]) {
    fastify.route({
      method: operation.method,
      url: routerPath(path),
      onRequest: async (request, reply) => {
        const state = stateOf(request);
        state.operation = operation;
        await context.with(state.context, () => admit(server, operation, request, reply));
      },
      handler: async (request, reply) => {
        const state = stateOf(request);
        await context.with(state.context, () => handleRequest(server, operation, handler, request, reply));
        return reply;
      },
    });
  }
}
