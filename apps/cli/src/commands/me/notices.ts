import { defineCommand } from '../../framework/command.ts';
import { UsageError } from '../../framework/errors.ts';
import { printList } from '../../framework/output.ts';
import { hasTestKey } from '../../framework/profiles.ts';

const kinds = ['balance', 'budgets', 'expiring', 'maintenance', 'invoices', 'webhooks', 'keys'] as const;
type Kind = (typeof kinds)[number];

export const command = defineCommand({
  name: 'me notices',
  summary: 'Show or change your email notices',
  description: 'Without flags it shows your notices. You do not get notices that your role must not see.',
  flags: {
    on: { type: 'list', value: 'KINDS', choices: kinds, describe: 'send me these notices' },
    off: { type: 'list', value: 'KINDS', choices: kinds, describe: 'do not send me these notices' },
    usual: { type: 'list', value: 'KINDS', choices: kinds, describe: 'use the default of my role' },
  },
  examples: {
    'millrace me notices': 'Your notices',
    'millrace me notices --off expiring,maintenance --on balance': 'Change two settings',
  },
  operations: ['getNoticePreferences', 'updateNoticePreferences'],
  json: { kind: 'list', fields: ['kind', 'enabled', 'chosen', 'available'] },
  failure: 'Could not read or change your notices',
  async run(context, { flags: { on, off, usual } }) {
    const wanted: readonly (readonly [Kind, boolean | null])[] = [
      ...on.map((kind) => [kind, true] as const),
      ...off.map((kind) => [kind, false] as const),
      ...usual.map((kind) => [kind, null] as const),
    ];
    if (new Set(wanted.map(([kind]) => kind)).size < wanted.length) {
      throw new UsageError('The same notice is named twice.');
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
      { empty: 'No notices.', footer: `Sent to ${response.email}.` },
    );
  },
});

function noticeReason(chosen: boolean | null, available: boolean, isTest: boolean): string {
  if (!available) return 'not available to your role';
  if (chosen !== null) return 'your choice';
  return isTest ? 'default of test mode' : 'default of your role';
}
