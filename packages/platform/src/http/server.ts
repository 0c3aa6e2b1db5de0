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
import { sendError } from './send-error.ts';
import { handleRequest } from './handle-request.ts';
import type { ServerContext } from './server-context.ts';
import { defaultHttpLimits } from './limits.ts';
import { beginRequest, endRequest, pathOf } from './request-telemetry.ts';
import { findState, stateOf } from './request-state.ts';
import { createMethodFinder, createOperationFinder, createTargetFinder, routerPath } from './route-path.ts';
import type { Handler, HttpServer, HttpServerOptions } from './types.ts';

/**
 * An HTTP server that serves operations of the contract. Everything that is the same for all of them happens
 * here once, in this order: request id, client address, authentication, rate limit, scope, validation,
 * idempotency, handler, check of the answer. Handlers only do their work.
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
    draining: drain.signal,
  };
  const fastify = createFastify(server, options.tls);
  const served = new Set<string>();
  installHooks(server, fastify, served);
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
        throw new Error(`${operation.id} is not an operation of the contract this server was made with.`);
      }
      if (served.has(operation.id)) throw new Error(`${operation.id} is served already.`);
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

/**
 * Clients open connections ahead of need. Node takes one on which nothing was asked yet for busy, so a drain would
 * wait for it until it times out. The returned function ends those connections.
 */
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
    // Node would refuse a request without a Host by an empty answer of its own; the first hook does it in our words.
    requireHostHeader: false,
    // How often Node looks for requests that are too slow in arriving.
    connectionsCheckingInterval: 5_000,
  };
  const shared = {
    logger: false,
    exposeHeadRoutes: false,
    // Request ids are ours alone: one taken from a client could repeat, or pose as another's.
    requestIdHeader: false as const,
    bodyLimit: limits.bodyBytes,
    connectionTimeout: limits.connectionTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    handlerTimeout: limits.handlerTimeoutMs,
    maxRequestsPerSocket: limits.maxRequestsPerSocket,
    forceCloseConnections: 'idle' as const,
    // A request that is already on its way when the drain begins is still answered.
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
  // The kit uses nothing of an instance that differs between HTTP and HTTPS.
  return Fastify({ ...shared, https }) as unknown as FastifyInstance;
}

function installHooks(server: ServerContext, fastify: FastifyInstance, served: ReadonlySet<string>): void {
  const admitUnrouted = createUnroutedAdmission(server, served);
  fastify.addHook('onRequest', async (request, reply) => {
    beginRequest(server, request, reply);
    // Here and not in the handler: a body is read between the two, and must not be read for nothing.
    if (request.is404) await admitUnrouted(request, reply);
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      await admitAnonymous(server, request, reply);
      throw new Fault('VALIDATION_FAILED', {
        message: 'The request names no Host.',
        suggestion: 'Send the header Host, as HTTP/1.1 demands.',
      });
    }
  });
  // An answer that goes out during a drain ends its connection: kept alive, it would hold the drain up.
  fastify.addHook('onSend', async (_request, reply) => {
    if (server.draining.aborted) reply.header('connection', 'close');
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
  // Node would answer an expectation it does not know with a 417 of its own; RFC 9110 lets us ignore it.
  fastify.server.on('checkExpectation', (request, response) => {
    fastify.server.emit('request', request, response);
  });
  installBodyParsers(server, fastify);
}

/** The door of everything the router has no route for. */
function createUnroutedAdmission(
  server: ServerContext,
  served: ReadonlySet<string>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const findOperation = createOperationFinder(Object.values(server.contract.operations));
  const targetAt = createTargetFinder(Object.values(server.contract.operations));
  return async (request, reply) => {
    const operation = findOperation(request.method, pathOf(request));
    stateOf(request).errorTarget = targetAt(pathOf(request));
    if (operation === undefined || served.has(operation.id)) {
      await admitAnonymous(server, request, reply);
      return;
    }
    // An operation that is not built yet keeps the same door as one that is: who may not call it learns nothing more.
    const state = stateOf(request);
    state.operation = operation;
    await context.with(state.context, () => admit(server, operation, request, reply));
  };
}

/** Some paths the router refuses before any hook runs, so what the hooks do is done here. */
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

/** JSON is the only body there is. An operation without a body ignores whatever was sent. */
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

/** The framework keeps to itself what was wrong. V8's words quote the body, so only the place is taken from them. */
function describeMalformedJson(text: string): string {
  try {
    JSON.parse(text);
    return 'The request body holds a key named __proto__ or constructor.';
  } catch (error) {
    const [, place] = /\((line \d+ column \d+)\)$/.exec(error instanceof Error ? error.message : '') ?? [];
    const position = place === undefined ? '' : `: it breaks at ${place}`;
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
