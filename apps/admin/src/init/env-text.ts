import { CommandError } from '../command.ts';

/** Lines of an environment file: settings, and comments. */
export type EnvLine = readonly [name: string, value: string] | string;

/** Renders a file that systemd's `EnvironmentFile=` and Node's `--env-file` read in the same way. */
export function renderEnvText(lines: readonly EnvLine[]): string {
  return lines
    .map((each) => (typeof each === 'string' ? `# ${each}\n` : `${each[0]}=${quoteEnvValue(...each)}\n`))
    .join('');
}

/** The two readers treat escapes differently, so no value is escaped. */
function quoteEnvValue(name: string, value: string): string {
  if (/^[\w.:/@%+,=-]*$/.test(value)) return value;
  // Control characters, and above all line breaks.
  if (!/[\u0000-\u001f\u007f]/.test(value)) {
    if (!value.includes("'")) return `'${value}'`;
    if (!/["\\`$]/.test(value)) return `"${value}"`;
  }
  throw new CommandError(
    `${name} would be ${JSON.stringify(value)}, which a settings file cannot contain. Leave out quotation marks, backslashes and control characters.`,
  );
}
