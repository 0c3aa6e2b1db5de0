import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { Fault } from '../fault/index.ts';
import type { BodyCaller, BodyReservation } from './body/body-budget.ts';
import { addressBlock } from './client-ip.ts';
import type { ServerContext } from './server-context.ts';
import { unsupportedEncodingFault } from './body/body-encoding.ts';
import { readBody } from './body/read-body.ts';
import { stateOf, type RequestState } from './request-state.ts';

export interface ReadTextOptions {
  readonly maxBytes: number;
  done(text: string): void;
  fail(error: unknown): void;
}

/** Reads a body as text within the body budgets of the process and of its caller. */
export function readText(
  context: ServerContext,
  request: FastifyRequest,
  payload: Readable,
  reading: ReadTextOptions,
): void {
  const { maxBytes, done, fail } = reading;
  const announced = Number(request.headers['content-length'] ?? 0);
  const unreadable = unsupportedEncodingFault(request.headers);
  if (unreadable !== null) {
    fail(unreadable);
    return;
  }
  let share: BodyReservation;
  try {
    share = context.bodies.open(bodyCallerOf(stateOf(request)));
  } catch (error) {
    fail(error);
    return;
  }
  readBody(payload, {
    announced,
    maxBytes,
    arrival: { timer: context.clock, timeoutMs: context.limits.bodyTimeoutMs },
    share,
    parse: (bytes) => bytes.toString('utf8'),
    done,
    fail,
    left: () => fail(new Fault('VALIDATION_FAILED', { ...incomplete })),
  });
}

const incomplete = {
  message: 'The client closed the connection before the whole body had arrived.',
  suggestion: 'Send a complete HTTP/1.1 request.',
};

/** Only deposits distinguish callers: anyone can send anonymous requests, sign up and create test keys. */
function bodyCallerOf({ principal, person, clientIp }: RequestState): BodyCaller {
  if (principal !== null)
    return { subject: principal.orgId, isFunded: principal.orgFunded && principal.mode === 'live' };
  return { subject: person === null ? addressBlock(clientIp) : person.userId, isFunded: false };
}
