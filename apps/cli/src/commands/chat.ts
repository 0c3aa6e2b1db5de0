import { chooseModel, modelFlag } from '../chat/model.ts';
import { startConversation } from '../chat/conversation.ts';
import { replyPrinter, sendQuestion, runChat, replyFooter, type ModelOptions } from '../chat/session.ts';
import { defineCommand, type Command } from '../framework/command.ts';
import type { Context } from '../framework/context.ts';
import { describeError, renderError } from '../framework/describe-error.ts';
import { UsageError } from '../framework/errors.ts';
import { printJson } from '../framework/output.ts';

export const command: Command = defineCommand({
  name: 'chat',
  summary: 'Chat with a model; completions stream, with tokens and cost',
  description:
    'Without a question it starts a conversation: Ctrl-C ends a completion but not the chat, and /help lists the commands. With a question, or with piped input, it prints one completion to standard output.',
  positionals: [
    { name: 'question', optional: true, many: true, describe: 'one question; without it, a conversation' },
  ],
  flags: {
    model: modelFlag,
    system: {
      type: 'text',
      short: 's',
      value: 'TEXT',
      describe: 'the system prompt',
    },
    'max-tokens': {
      type: 'number',
      integer: true,
      min: 1,
      value: 'N',
      describe: 'the maximum length of a completion',
    },
    temperature: {
      type: 'number',
      min: 0,
      max: 2,
      value: 'T',
      describe: 'the sampling temperature, 0 to 2',
    },
  },
  examples: {
    'millrace chat --model millrace-tiny': 'A conversation',
    'millrace chat "Why is the sky blue?" --max-tokens 200': 'One question',
    'git diff | millrace chat --system "Write a commit message."': 'About piped input',
  },
  operations: ['createChatCompletion', 'listModels', 'getRequestUsage'],
  json: {
    kind: 'record',
    fields: ['model', 'answer', 'finishReason', 'usage', 'requestId', 'firstTokenMs', 'totalMs'],
  },
  failure: 'The model did not respond',
  run: async (context, { args, flags }) => {
    const isConversation = args.question.length === 0 && context.io.inIsTty;
    if (isConversation && context.output.format === 'json') {
      throw new UsageError('A conversation cannot print JSON. Ask one question: millrace chat "…" --json');
    }
    const question = isConversation ? '' : await readQuestion(context, args.question);
    const model = await chooseModel(context.client(), flags.model, ['chat']);
    const conversation = startConversation(model, flags.system ?? null);
    const options: ModelOptions = {
      max_tokens: flags['max-tokens'],
      temperature: flags.temperature,
    };
    if (!isConversation) return sendOnce(context, { conversation, question, options });
    return runChat(context, conversation, { options, describe: (error) => errorText(context, error) });
  },
});

function errorText(context: Context, error: unknown): string {
  const { profile } = context;
  const described = describeError(error, { command, profile, interrupted: false });
  return renderError(described, (text) => context.io.paintErr('red', text));
}

async function readQuestion(context: Context, words: readonly string[]): Promise<string> {
  const question = words.length > 0 ? words.join(' ') : (await context.files.readStdin()).trimEnd();
  if (question.trim() !== '') return question;
  throw new UsageError('There is no question, and the piped input is empty.', {
    fix: 'millrace chat "Why is the sky blue?"',
  });
}

async function sendOnce(context: Context, request: Parameters<typeof sendQuestion>[2]): Promise<void> {
  const { io, signal } = context;
  const client = context.client();
  const isJson = context.output.format === 'json';
  const end = await sendQuestion(context, client, request, {
    signal,
    show: isJson ? () => undefined : replyPrinter(context),
  });
  if (isJson) {
    printJson(context, {
      model: request.conversation.model,
      answer: end.text,
      finishReason: end.finishReason,
      usage: end.usage,
      requestId: end.requestId,
      firstTokenMs: end.timing.firstMs,
      totalMs: end.timing.totalMs,
    });
  } else if (!end.text.endsWith('\n')) io.out('\n');
  // Programs read the cost with --json; a person sees it on standard error.
  if (io.errIsTty && !isJson)
    context.note(io.paintErr('dim', (await replyFooter(context, client, end)).text));
  // A script must not take an interrupted completion for a complete one.
  signal.throwIfAborted();
}
