import { ApiError, ConnectionError } from '@millrace/sdk';
import { SignInError } from './auth.ts';

/** A failed call as the user sees it: what happened, what to do, and the request id to quote to support. */
export interface Problem {
  readonly title: string;
  readonly advice: string | null;
  readonly requestId: string | null;
  readonly reason: string | null;
  readonly docUrl: string | null;
  /** The service failed, so its status page may explain it. */
  readonly isOutage: boolean;
}

export function toProblem(error: unknown): Problem {
  if (error instanceof ApiError) {
    const { message, suggestion, requestId, reason, docUrl } = error;
    const fields = error.issues.map(({ path, message: why }) => `${(path ?? []).join('.')}: ${why}`);
    const advice = [suggestion, ...fields].filter((text) => text !== null && text !== '').join(' ');
    const isOutage = error.status >= 500;
    return { title: message, advice: advice === '' ? null : advice, requestId, reason, docUrl, isOutage };
  }
  if (error instanceof ConnectionError) {
    return {
      title: 'Could not reach the service.',
      advice: 'Check your connection and try again. Your input is still here.',
      requestId: null,
      reason: null,
      docUrl: null,
      isOutage: true,
    };
  }
  const title = error instanceof Error ? error.message : String(error);
  const advice = error instanceof SignInError ? null : 'Try again. If the error remains, reload the page.';
  return { title, advice, requestId: null, reason: null, docUrl: null, isOutage: false };
}

/** The service's message about one input field, if there is one. */
export function fieldIssue(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  return error.issues.find(({ path }) => path?.[0] === field || path?.join('.') === field)?.message;
}
