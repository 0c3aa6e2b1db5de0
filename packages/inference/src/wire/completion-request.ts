import { contract, type Body } from '@millrace/contract';
import { createBodyReader, fieldNamesOf, type BodyReader } from './body-reader.ts';
import { checkSampling } from './sampling-checks.ts';
import { byteLength } from './unreadable-text.ts';

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

/** Each prompt gets `n` completions. */
export function completionChoices(request: CompletionRequest): number {
  return promptsOf(request).length * (request.n ?? 1);
}

/** Tokens that mark the start and the end of a prompt. */
const markTokens = 8;

/** Upper bound of the tokens of all prompts together for any engine. */
export function maxCompletionPromptTokens(request: CompletionRequest): number {
  const around = markTokens + byteLength(request.suffix ?? '');
  return promptsOf(request).reduce((bound, prompt) => bound + around + byteLength(prompt), 0);
}

const prefixLength = 2_048;

/** Requests with an equal first prompt prefix go to the same deployment. */
export function completionPrefix(request: CompletionRequest): string {
  return (promptsOf(request)[0] ?? '').slice(0, prefixLength);
}
