import { contract, type Body } from '@millrace/contract';
import { createBodyReader, fieldNamesOf, type BodyReader } from './body-reader.ts';
import { checkSampling } from './sampling-checks.ts';
import { byteLength } from './unreadable-text.ts';

/** The completion request as it comes in. */

const operation = contract.operations.createCompletion;
export type CompletionRequest = Body<typeof operation>;

export const readCompletion: BodyReader<CompletionRequest> = createBodyReader(
  operation.body,
  fieldNamesOf(operation.body),
  (request) => {
    const issues = [...checkSampling(request)];
    if (completionChoices(request) > maxChoices) {
      const message = `together with prompt must ask for at most ${maxChoices} choices`;
      issues.push({ path: ['n'], message, code: 'too_big' });
    }
    return issues;
  },
);

const maxChoices = 128;

export function promptsOf(request: CompletionRequest): readonly string[] {
  return typeof request.prompt === 'string' ? [request.prompt] : request.prompt;
}

/** Every prompt has as many answers as are asked for. */
export function completionChoices(request: CompletionRequest): number {
  return promptsOf(request).length * (request.n ?? 1);
}

/** What stands before and after a bare prompt: the marks of its beginning and its end. */
const markTokens = 8;

/** No engine makes more tokens of all prompts together than this. */
export function maxCompletionPromptTokens(request: CompletionRequest): number {
  const around = markTokens + byteLength(request.suffix ?? '');
  return promptsOf(request).reduce((bound, prompt) => bound + around + byteLength(prompt), 0);
}

const prefixLength = 2_048;

/** The beginning of the first prompt: those that share it go to the same place. */
export function completionPrefix(request: CompletionRequest): string {
  return (promptsOf(request)[0] ?? '').slice(0, prefixLength);
}
