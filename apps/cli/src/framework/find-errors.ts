import { CliError, UsageError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

export function notFoundError(noun: string, words: string, list: string): CliError {
  return new CliError(`There is no ${noun} ${JSON.stringify(words)}.`, {
    why: `No ${noun} of your organisation has this id or name.`,
    fix: `List them: ${list}`,
    exitCode: exitCodes.notFound,
  });
}

export function ambiguousError(noun: string, words: string, ids: readonly (number | string)[]): UsageError {
  return new UsageError(`Several ${noun} have the name ${JSON.stringify(words)}: ${ids.join(', ')}.`, {
    fix: 'Use the id.',
  });
}
