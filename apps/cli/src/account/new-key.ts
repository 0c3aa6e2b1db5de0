import type { Context } from '../framework/context.ts';
import { lostSecretError } from '../framework/errors.ts';
import { printJson } from '../framework/output.ts';

interface NewKey {
  readonly id: string;
  readonly name: string;
  readonly mode: string;
  readonly key: string | null;
}

/** Prints only the key on standard output, so that it can be piped without copying. */
export function showNewKey(context: Context, created: NewKey): void {
  const isJson = context.output.format === 'json';
  if (isJson) printJson(context, created);
  if (created.key === null) {
    const fix = `Revoke it and create another: millrace key revoke ${created.id}`;
    throw lostSecretError(`Key "${created.name}" (${created.id}) was created`, fix);
  }
  if (isJson) return;
  context.io.out(`${created.key}\n`);
  context.note(`Created ${created.mode} key "${created.name}" (${created.id}).`);
  context.note('This key is shown only once. Save it in a safe place.');
}
