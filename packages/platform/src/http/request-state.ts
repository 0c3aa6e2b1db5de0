import type { Operation } from '@millrace/contract';
import type { Context, Span } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import type { FaultTarget } from '../fault/index.ts';
import type { RequestId } from '../ids/index.ts';
import type { Logger } from '../log/index.ts';
import type { SessionUser, Principal } from './types.ts';

/** State of a request during its processing. */
export interface RequestState {
  readonly requestId: RequestId;
  readonly clientIp: string;
  readonly startedMs: number;
  readonly span: Span;
  readonly context: Context;
  readonly log: Logger;
  /** Aborts if the client disconnects before the response is complete. */
  readonly left: AbortController;
  /** Null for a path without an operation. */
  operation: Operation | null;
  /** The error family of a path without an operation. */
  errorTarget: FaultTarget;
  principal: Principal | null;
  person: SessionUser | null;
  /** The reason of the fault that was sent. */
  reason: string | null;
}

const states = new WeakMap<FastifyRequest, RequestState>();

export function setState(request: FastifyRequest, state: RequestState): void {
  states.set(request, state);
}

export function stateOf(request: FastifyRequest): RequestState {
  const state = states.get(request);
  if (state === undefined) throw new Error('A request was not registered by the first hook.');
  return state;
}

/** For errors of the framework before any hook. */
export function findState(request: FastifyRequest): RequestState | undefined {
  return states.get(request);
}
