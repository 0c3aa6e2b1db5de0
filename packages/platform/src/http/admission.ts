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

/** Authenticates, rate-limits and authorizes a request before its body is read. Sets the rate headers. */
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

/** A path without an operation costs as much as an anonymous operation. */
export async function admitAnonymous(
  context: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  admitOrThrow(reply, await context.limiter.consume(anonymousLimits(context, stateOf(request).clientIp)));
}

/** Files have their own limit, so that loading pages does not use up the anonymous limit that sign-in needs. */
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
 * Each rejected key counts against the client address; beyond the limit, a guess gets only 429. An accepted key is
 * never limited by other callers at its address. Keys that could not be checked do not count.
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

/** Whether a caller of a running stream still has access. If this cannot be determined, the stream continues. */
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

/** Limits users separately, so that the console does not use up the limit of the organisation's programs. */
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

/** Services with signed requests send bursts from few addresses, and more attempts do not help to forge one. */
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
        ? `Your role in this organisation does not include the scope ${scope}, which this operation requires.`
        : `This API key does not have the scope ${scope}, which this operation requires.`,
    ...(principal.kind === 'session'
      ? { suggestion: 'Ask an owner or admin of the organisation for a role that includes it.' }
      : {}),
    extra: { requiredScope: scope },
  });
}
