import { completionCandidates, type Candidate } from '../completion/candidates.ts';
import { defineCommand } from '../framework/command.ts';

/** The output format of each shell. */
const forms: Readonly<Record<string, (candidate: Candidate) => string>> = {
  words: ({ word }) => word,
  colon: ({ word, about }) => `${word.replaceAll(':', String.raw`\:`)}${about === '' ? '' : `:${about}`}`,
  tab: ({ word, about }) => (about === '' ? word : `${word}\t${about}`),
};

export const command = defineCommand({
  name: '__complete',
  summary: 'Completion candidates for shells',
  positionals: [{ name: 'form', describe: 'output format', choices: ['words', 'colon', 'tab'] }],
  rest: 'WORDS',
  examples: {
    'millrace __complete words -- rental ""': 'The commands of a noun',
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
