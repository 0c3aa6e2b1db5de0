import type { Context } from '../framework/context.ts';
import { UsageError } from '../framework/errors.ts';

/** Reads the JSON object of `--input FILE`, or of standard input for `-`. */
export async function readInput(
  { files }: Pick<Context, 'files'>,
  file: string,
): Promise<Readonly<Record<string, unknown>>> {
  const from = file === '-' ? 'standard input' : file;
  const text = await textOf(files, file);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError(`The content of ${from} is not JSON.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError(`The content of ${from} is not a JSON object, such as { "name": "ci" }.`);
  }
  return value as Readonly<Record<string, unknown>>;
}

async function textOf(files: Context['files'], file: string): Promise<string> {
  if (file === '-') return files.readStdin();
  try {
    return await files.readText(file);
  } catch {
    throw new UsageError(`${file} cannot be read.`);
  }
}
