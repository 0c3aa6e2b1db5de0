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
  summary: 'Talk to a model; answers stream, with their tokens and cost',
  description:
    'Without words it is a conversation: Ctrl-C ends an answer and not the chat, /help lists what else can be typed. With ' +
    'words, or with something piped in, it is one question: only the answer is on standard output.',
  positionals: [
    { name: 'question', optional: true, many: true, describe: 'one question; left out, a conversation' },
  ],
  flags: {
    model: modelFlag,
    system: {
      type: 'text',
      short: 's',
      value: 'TEXT',
      describe: 'what the model is told before everything else',
    },
    'max-tokens': { type: 'number', integer: true, min: 1, value: 'N', describe: 'the longest answer' },
    temperature: {
      type: 'number',
      min: 0,
      max: 2,
      value: 'T',
      describe: 'how freely it chooses its words, 0 to 2',
    },
  },
  examples: {
    'millrace chat --model millrace-tiny': 'a conversation',
    'millrace chat "Why is the sky blue?" --max-tokens 200': 'one question',
    'git diff | millrace chat --system "Write a commit message."': 'about what is piped in',
  },
  operations: ['createChatCompletion', 'listModels', 'getRequestUsage'],
  json: {
    kind: 'record',
    fields: ['model', 'answer', 'finishReason', 'usage', 'requestId', 'firstTokenMs', 'totalMs'],
  },
  failure: 'The model did not answer',
  run: async (context, { args, flags }) => {
    const isConversation = args.question.length === 0 && context.io.inIsTty;
    if (isConversation && context.output.format === 'json') {
      throw new UsageError('A conversation has no JSON. Ask one question: millrace chat "…" --json');
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
  throw new UsageError('There is no question: nothing was piped in.', {
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
  // Whoever reads by program asks for --json; a person sees what it came to.
  if (io.errIsTty && !isJson)
    context.note(io.paintErr('dim', (await replyFooter(context, client, end)).text));
  // An answer that the person ended is no whole answer to a script.
  signal.throwIfAborted();
}
