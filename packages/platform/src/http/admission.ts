import { statusFor } from '@millrace/contract';
import type { Operation } from '@millrace/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault, isFault } from '../fault/index.ts';
import type { RateDecision, RatePolicy, RateRequest } from '../limiter/index.ts';
import { addressBlock } from './client-ip.ts';
import { deprecationHeaders, sunsetFault } from './response/deprecation.ts';
import { identifyCaller, type CallerIdentity } from './identify-caller.ts';
import type { ServerContext } from './server-context.ts';
import { rateHeaders, rateLimitFault } from './response/rate-headers.ts';
import { stateOf, type RequestState } from './request-state.ts';
import type { SessionUser, Principal } from './types.ts';

const minuteMs = 60_000;
const unauthenticated: CallerIdentity = { principal: null, person: null };

/**
 * Decides, before the body is read, whether a request may go on: who is it, has it budget left, may it do
 * this. Whatever the outcome, the answer carries the limits.
 */
export async function admit(
  context: ServerContext,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const state = stateOf(request);
  const { principal, person } =
    operation.auth === 'none' ? unauthenticated : await authenticate(context, operation, request, reply);
  state.principal = principal;
  state.person = person;
  admitOrThrow(reply, await context.limiter.consume(limitsOf(context, operation, state)));
  announceDeprecation(context, operation, reply);
  if (principal !== null) requireScope(operation, principal);
}

/** What is no operation costs its caller as much as an anonymous operation. */
export async function admitAnonymous(
  context: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  admitOrThrow(reply, await context.limiter.consume(anonymousLimits(context, stateOf(request).clientIp)));
}

/** A file of a page is no try at anything, so whoever loads pages can still sign in at the rate of strangers. */
export async function admitFile(
  context: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { clientIp } = stateOf(request);
  admitOrThrow(
    reply,
    await context.limiter.consume(addressLimits('files', clientIp, context.limits.fileRpm)),
  );
}

function admitOrThrow(reply: FastifyReply, decision: RateDecision): void {
  reply.headers(rateHeaders(decision));
  if (decision.refusedBy !== null) throw rateLimitFault(decision.refusedBy);
}

/**
 * Each refused key counts against the caller's address, and beyond the limit all that a guess learns is when to
 * come back. A key that is accepted never counts, and is never refused for what its neighbours behind the same
 * address did; nor does a key that could not be judged at all.
 */
async function authenticate(
  context: ServerContext,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<CallerIdentity> {
  const { clientIp } = stateOf(request);
  try {
    return await identifyCaller(context, operation, request);
  } catch (error) {
    const limits = failedAuthLimits(context, clientIp);
    if (!isFault(error) || statusFor(error.reason, operation) >= 500) {
      reply.headers(rateHeaders(await context.limiter.peek(limits)));
      throw error;
    }
    admitOrThrow(reply, await context.limiter.consume(limits));
    throw error;
  }
}

/** Whether whoever was let in would be let in now. Not being able to tell is no reason to send anyone away. */
export async function isStillAdmitted(
  context: ServerContext,
  operation: Operation,
  request: FastifyRequest,
): Promise<boolean> {
  if (operation.auth === 'none') return true;
  try {
    const { principal } = await identifyCaller(context, operation, request);
    if (principal !== null) requireScope(operation, principal);
    return true;
  } catch (error) {
    return !isFault(error) || statusFor(error.reason, operation) >= 500;
  }
}

function limitsOf(context: ServerContext, operation: Operation, state: RequestState): RateRequest {
  if (state.principal?.kind === 'session') return userLimits(context, state.principal);
  if (state.principal !== null) return principalLimits(state.principal);
  if (state.person !== null) return userLimits(context, state.person);
  return unauthenticatedLimits(context, operation, state.clientIp);
}

/**
 * Whoever looks at the console makes more requests than a program with nothing paid in may, and must not use up what the
 * organisation's programs have. So people are counted by themselves, over all their tabs and organisations.
 */
function userLimits(context: ServerContext, { userId }: Pick<SessionUser, 'userId'>): RateRequest {
  const policy: RatePolicy = {
    name: 'person',
    scope: 'person',
    subject: userId,
    limit: context.limits.personRpm,
    windowMs: minuteMs,
  };
  return { tag: userId, policies: [policy] };
}

function principalLimits(principal: Principal): RateRequest {
  const { orgId, keyId, limits } = principal;
  const organisation: RatePolicy = {
    name: 'organisation',
    scope: 'organisation',
    subject: orgId,
    limit: limits.organisationRpm,
    windowMs: minuteMs,
  };
  if (limits.keyRpm === null) return { tag: orgId, policies: [organisation] };
  const key = {
    name: 'key',
    scope: 'key',
    subject: keyId,
    limit: limits.keyRpm,
    windowMs: minuteMs,
  } as const;
  return { tag: orgId, policies: [organisation, key] };
}

/** A service that signs what it sends comes from few addresses and in bursts; who guesses learns nothing from more. */
function unauthenticatedLimits(context: ServerContext, operation: Operation, clientIp: string): RateRequest {
  if (operation.signedBody !== true) return anonymousLimits(context, clientIp);
  return addressLimits('signed', clientIp, context.limits.signedRpm);
}

function anonymousLimits(context: ServerContext, clientIp: string): RateRequest {
  return addressLimits('anonymous', clientIp, context.limits.anonymousRpm);
}

function failedAuthLimits(context: ServerContext, clientIp: string): RateRequest {
  return addressLimits('failed-authentication', clientIp, context.limits.failedAuthRpm);
}

function addressLimits(name: string, clientIp: string, limit: number): RateRequest {
  const block = addressBlock(clientIp);
  return { tag: block, policies: [{ name, scope: 'ip', subject: block, limit, windowMs: minuteMs }] };
}

function announceDeprecation(context: ServerContext, operation: Operation, reply: FastifyReply): void {
  const notice = context.contract.deprecations?.[operation.id];
  if (notice === undefined) return;
  reply.headers(deprecationHeaders(notice));
  const fault = sunsetFault(notice, context.clock.nowMs());
  if (fault !== null) throw fault;
}

function requireScope({ scope }: Operation, principal: Principal): void {
  if (scope === null || principal.scopes.has(scope)) return;
  throw new Fault('INSUFFICIENT_SCOPE', {
    message:
      principal.kind === 'session'
        ? `Your role in this organisation does not include ${scope}, which this needs.`
        : `This API key does not hold the scope ${scope}, which this operation needs.`,
    ...(principal.kind === 'session'
      ? { suggestion: 'Ask an owner or admin of the organisation for a role that includes it.' }
      : {}),
    extra: { requiredScope: scope },
  });
}
