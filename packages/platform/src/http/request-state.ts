import type { Operation } from '@millrace/contract';
import type { Context, Span } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import type { FaultTarget } from '../fault/index.ts';
import type { RequestId } from '../ids/index.ts';
import type { Logger } from '../log/index.ts';
import type { SessionUser, Principal } from './types.ts';

/** What the kit knows about a request while it is on its way. */
export interface RequestState {
  readonly requestId: RequestId;
  readonly clientIp: string;
  readonly startedMs: number;
  readonly span: Span;
  readonly context: Context;
  readonly log: Logger;
  /** Aborts when the client leaves before the answer is out. */
  readonly left: AbortController;
  /** Null until a route of the contract is known, and for paths that are none. */
  operation: Operation | null;
  /** For a path that is no operation: whose error body it answers with. */
  errorTarget: FaultTarget;
  principal: Principal | null;
  person: SessionUser | null;
  /** The reason of the refusal, once there is one. */
  reason: string | null;
}

const states = new WeakMap<FastifyRequest, RequestState>();

export function setState(request: FastifyRequest, state: RequestState): void {
  states.set(request, state);
}

export function stateOf(request: FastifyRequest): RequestState {
  const state = states.get(request);
  if (state === undefined) throw new Error('A request reached the kit without passing its first hook.');
  return state;
}

/** For error paths of the framework that come before any hook. */
export function findState(request: FastifyRequest): RequestState | undefined {
  return states.get(request);
}
