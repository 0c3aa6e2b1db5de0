import type { ContractSchemas } from '@millrace/contract';
import { chatAdapterOf, isTextEngine } from '../../adapters/text/chat-adapters.ts';
import { completionAdapterOf } from '../../adapters/text/completion-adapters.ts';
import { minChatTokens, minCompletionTokens } from '../../adapters/text/min-tokens.ts';
import {
  chatChoices,
  requestedMaxTokens,
  createChatReader,
  hasImages,
  textConversationOf,
  chatPrefix,
  maxChatPromptTokens,
  type ChatRequest,
} from '../../wire/chat-request.ts';
import {
  completionChoices,
  completionPrefix,
  maxCompletionPromptTokens,
  promptsOf,
  readCompletion,
  type CompletionRequest,
} from '../../wire/completion-request.ts';
import type { TextOperation } from './serve-text.ts';

export function chatOperation({
  chatRequest,
}: Pick<ContractSchemas, 'chatRequest'>): TextOperation<ChatRequest> {
  return {
    name: 'chat',
    modalities: ['chat'],
    read: createChatReader(chatRequest),
    modelOf: ({ model }) => model,
    isStream: ({ stream }) => stream === true,
    maxTokensOf: requestedMaxTokens,
    choicesOf: chatChoices,
    promptBound: maxChatPromptTokens,
    plainConversation: textConversationOf,
    leastPrompt: minChatTokens,
    promptsOf: () => 1,
    prefixOf: chatPrefix,
    needsImages: hasImages,
    adapterOf: (engine) => (isTextEngine(engine) ? chatAdapterOf(engine) : null),
  };
}

export const completionOperation: TextOperation<CompletionRequest> = {
  name: 'text_completion',
  // Chat models can also complete plain text.
  modalities: ['completion', 'chat'],
  read: readCompletion,
  modelOf: ({ model }) => model,
  isStream: ({ stream }) => stream === true,
  maxTokensOf: ({ max_tokens: tokens }) => tokens ?? null,
  choicesOf: completionChoices,
  promptBound: maxCompletionPromptTokens,
  leastPrompt: minCompletionTokens,
  promptsOf: (request) => promptsOf(request).length,
  prefixOf: completionPrefix,
  needsImages: () => false,
  adapterOf: (engine) => (isTextEngine(engine) ? completionAdapterOf(engine) : null),
};
