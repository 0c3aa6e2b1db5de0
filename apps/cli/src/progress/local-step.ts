import type { Context } from '../framework/context.ts';
import type { Step } from '@millrace/sdk/text';

/** A step that the API does not report: it lasts from the request until its result is seen. */
export function localStep(
  { clock }: Context,
  name: string,
): { readonly running: Step; readonly done: () => Step } {
  const startedAt = clock.now().toISOString();
  const step = { name, startedAt, message: null };
  return {
    running: { ...step, status: 'running', endedAt: null },
    done: () => ({ ...step, status: 'done', endedAt: clock.now().toISOString() }),
  };
}
