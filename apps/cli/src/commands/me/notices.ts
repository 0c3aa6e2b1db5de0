import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printList } from '../../framework/output.ts';
import { hasTestKey } from '../../framework/profiles.ts';

const kinds = ['balance', 'budgets', 'expiring', 'maintenance', 'invoices', 'webhooks', 'keys'] as const;
type Kind = (typeof kinds)[number];

export const command = defineCommand({
  name: 'me notices',
  summary: 'What you are told by mail, and choose it',
  description:
    'Without flags it shows what you get. What your role has nothing to do with is not sent to you.',
  flags: {
    on: { type: 'list', value: 'KINDS', choices: kinds, describe: 'send me these' },
    off: { type: 'list', value: 'KINDS', choices: kinds, describe: 'do not send me these' },
    usual: { type: 'list', value: 'KINDS', choices: kinds, describe: 'as is usual for my role' },
  },
  examples: {
    'millrace me notices': 'What you get',
    'millrace me notices --off expiring,maintenance --on balance': 'Less of one, more of another',
  },
  operations: ['getNoticePreferences', 'updateNoticePreferences'],
  json: { kind: 'list', fields: ['kind', 'enabled', 'chosen', 'available'] },
  failure: 'Could not read or change what you are told',
  async run(context, { flags: { on, off, usual } }) {
    const wanted: readonly (readonly [Kind, boolean | null])[] = [
      ...on.map((kind) => [kind, true] as const),
      ...off.map((kind) => [kind, false] as const),
      ...usual.map((kind) => [kind, null] as const),
    ];
    if (new Set(wanted.map(([kind]) => kind)).size < wanted.length) {
      throw new UsageError('The same kind is asked for twice.');
    }
    const { me } = context.client();
    const { signal } = context;
    const response =
      wanted.length === 0
        ? await me.getNoticePreferences({}, { signal })
        : await me.updateNoticePreferences({ preferences: Object.fromEntries(wanted) }, { signal });
    const rows = Object.entries(response.preferences).map(([kind, { enabled, chosen, available }]) => ({
      ...{ kind, enabled, chosen, available },
    }));
    const isTest = hasTestKey(context.profile);
    printList(
      context,
      rows,
      [
        { name: 'kind', value: ({ kind }) => kind },
        { name: 'sent', value: ({ enabled, available }) => enabled && available },
        { name: 'because', value: ({ chosen, available }) => noticeReason(chosen, available, isTest) },
      ],
      { empty: 'There are none.', footer: `Sent to ${response.email}.` },
    );
  },
});

function noticeReason(chosen: boolean | null, available: boolean, isTest: boolean): string {
  if (!available) return 'your role has nothing to do with it';
  if (chosen !== null) return 'you chose it';
  return isTest ? 'usual for test mode' : 'usual for your role';
}
