import { UsageError } from './load-definition.ts';

/** What a kit's command writes to; tests collect it instead. */
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
    throw new UsageError(`--${flag} takes a whole number from 0; "${text}" is none.`);
  }
  return value;
}

/**
 * Ends the process with the command's code even when a definition left a connection open: a measurement that
 * is done must not hang its caller.
 */
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
