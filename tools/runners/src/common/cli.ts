import { UsageError } from './load-definition.ts';

/** Receives the output of a command; tests collect it. */
export interface Output {
  line(text: string): void;
}

export const terminal: Output = {
  line(text) {
    process.stdout.write(`${text}\n`);
  },
};

export function parseWholeNumber(flag: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new UsageError(`--${flag} takes a whole number from 0, not "${text}".`);
  }
  return value;
}

/** Exits even if a definition left a connection open, so that a finished run never hangs its caller. */
export async function runMain(
  command: (args: readonly string[], output: Output) => Promise<number>,
): Promise<void> {
  let code: number;
  try {
    code = await command(process.argv.slice(2), terminal);
  } catch (error) {
    const expected = error instanceof UsageError || (error instanceof TypeError && 'code' in error);
    process.stderr.write(`${expected || !(error instanceof Error) ? errorText(error) : error.stack}\n`);
    code = 2;
  }
  process.stdout.write('', () => process.exit(code));
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
