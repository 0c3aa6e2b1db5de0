import { completionCandidates, type Candidate } from '../completion/candidates.ts';
import { defineCommand } from '../framework/command.ts';

/** How each shell wants a word and what it is about. */
const forms: Readonly<Record<string, (candidate: Candidate) => string>> = {
  words: ({ word }) => word,
  colon: ({ word, about }) => `${word.replaceAll(':', String.raw`\:`)}${about === '' ? '' : `:${about}`}`,
  tab: ({ word, about }) => (about === '' ? word : `${word}\t${about}`),
};

export const command = defineCommand({
  name: '__complete',
  summary: 'What may follow the words so far; for the completions of shells',
  positionals: [{ name: 'form', describe: 'how to print', choices: ['words', 'colon', 'tab'] }],
  rest: 'WORDS',
  examples: {
    'millrace __complete words -- rental ""': 'What can be done with a rental',
    'millrace __complete tab -- key create --': 'The flags of a command',
  },
  operations: [],
  offline: true,
  json: { kind: 'none' },
  hidden: true,
  async run(context, { args, rest }) {
    const form = forms[args.form] ?? forms['words'];
    const found = await completionCandidates(context.manifest, rest);
    for (const candidate of found) context.io.out(`${form?.(candidate) ?? candidate.word}\n`);
  },
});
