import { docUrlFor, errorCodes, inferenceErrorTypes, statusFor } from '@millrace/contract';
import type { ErrorFamily, ErrorStatus, Reason } from '@millrace/contract';
import { Fault, isFault } from './fault.ts';
import type { FaultIssue } from './fault.ts';

/** The properties of the failed operation that determine its error body; null for an unknown path. */
export type FaultTarget = { readonly source: 'interface' | 'own'; readonly errorFamily: ErrorFamily } | null;

export interface RenderedFault {
  readonly status: ErrorStatus;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Renders any thrown value. Values other than a Fault become `INTERNAL` without their message. */
export function renderFault(error: unknown, target: FaultTarget, requestId: string): RenderedFault {
  const fault = isFault(error) ? error : new Fault('INTERNAL', { cause: error });
  const status = statusFor(fault.reason, target);
  return {
    status,
    headers: headersOf(fault, status),
    body: bodies[target?.errorFamily ?? 'v2'](fault, status, requestId),
  };
}

/** Temporary errors always have a Retry-After of at least one second. */
function headersOf(fault: Fault, status: ErrorStatus): Record<string, string> {
  const headers: Record<string, string> = {};
  if (fault.retryAfterSeconds !== undefined || status === 429 || status === 503) {
    headers['retry-after'] = String(Math.max(1, Math.ceil(fault.retryAfterSeconds ?? 1)));
  }
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="millrace"';
  return headers;
}

type BodyOf = (fault: Fault, status: ErrorStatus, requestId: string) => Readonly<Record<string, unknown>>;

const bodies: Readonly<Record<ErrorFamily, BodyOf>> = {
  v2: (fault, status, requestId) => ({
    ...fault.extra,
    message: fault.message,
    code: errorCodes[status],
    issues: fault.issues.map(toIssue),
    reason: fault.reason,
    suggestion: fault.suggestion,
    requestId,
    docUrl: docUrlFor(fault.reason),
  }),
  inference: (fault, status, requestId) => {
    const message = messageWithIssues(fault);
    const type = inferenceErrorTypes[status];
    const param = fault.issues[0]?.path.join('.') || null;
    return {
      ...fault.extra,
      object: 'error',
      message,
      type,
      param,
      code: status,
      error: { message, type, param, code: inferenceCode(fault.reason) },
      request_id: requestId,
      ...(fault.issues.length > 0 ? { detail: fault.issues.map(toDetail) } : {}),
    };
  },
  marketplace: (fault, status, requestId) => ({
    ...fault.extra,
    error_code: status,
    message: messageWithIssues(fault),
    reason: fault.reason,
    suggestion: fault.suggestion,
    issues: fault.issues.map(toIssue),
    request_id: requestId,
  }),
};

/** v1 clients show only the message, so it includes the first issue. */
function messageWithIssues(fault: Fault): string {
  const [first] = fault.issues;
  if (first === undefined) return fault.message;
  const field = first.path.length === 0 ? 'the request' : first.path.join('.');
  return `${fault.message.replace(/\.$/, '')}: ${field} ${first.message}`;
}

function toIssue({ message, path, code }: FaultIssue): Record<string, unknown> {
  return { message, path, code };
}

function toDetail(issue: FaultIssue): Record<string, unknown> {
  return { loc: [issue.location ?? 'body', ...issue.path], msg: issue.message, type: issue.code };
}

function inferenceCode(reason: Reason): string {
  return reason === 'RATE_LIMITED' ? 'rate_limit_exceeded' : reason.toLowerCase();
}
