import type { Context } from '../framework/context.ts';
import { lostSecretError } from '../framework/errors.ts';
import { printJson } from '../framework/output.ts';

interface NewKey {
  readonly id: string;
  readonly name: string;
  readonly mode: string;
  readonly key: string | null;
}

/** A key that was just made: it alone on standard output, so that it can go where it is needed without being copied. */
export function showNewKey(context: Context, created: NewKey): void {
  const isJson = context.output.format === 'json';
  if (isJson) printJson(context, created);
  if (created.key === null) {
    const fix = `Revoke it, and create another: millrace key revoke ${created.id}`;
    throw lostSecretError(`Key "${created.name}" (${created.id}) was created`, fix);
  }
  if (isJson) return;
  context.io.out(`${created.key}\n`);
  context.note(`Created ${created.mode} key "${created.name}" (${created.id}).`);
  context.note('This is the only time that it is shown. Keep it where secrets are kept.');
}
