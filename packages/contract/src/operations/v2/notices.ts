import { z } from 'zod';
import { noticeCategories, noticeCategoryNames, type NoticeCategory } from '../../notices.ts';
import { v2Operation } from '../../operation-builders.ts';

/** Preferences of users for email notices. */

/** One field per category, in display order. */
function byCategory<Field extends z.ZodType>(fieldOf: (description: string) => Field) {
  const fields = noticeCategoryNames.map((name) => [name, fieldOf(noticeCategories[name])] as const);
  return z.object(Object.fromEntries(fields) as Record<NoticeCategory, Field>);
}

const noticePreferences = z
  .object({
    email: z.string().max(255).meta({ description: 'The email address of this user.' }),
    preferences: byCategory((description) =>
      z
        .object({
          enabled: z.boolean().meta({ description: 'Whether this user gets the notice.' }),
          chosen: z.boolean().nullable().meta({
            description: 'The choice of the user; null means the default of the role.',
          }),
          available: z
            .boolean()
            .meta({ description: 'Whether the role may see this category; otherwise nothing is sent.' }),
        })
        .meta({ description }),
    ),
  })
  .meta({ id: 'NoticePreferences' });

export const noticeOperations = {
  getNoticePreferences: v2Operation('GET /v2/me/notice-preferences', {
    scope: null,
    summary: 'Read your email notice preferences',
    description:
      'The preferences of this user in this organisation. Live and test mode have separate preferences; in test mode, notices are off unless enabled.',
    tags: ['identity'],
    response: { status: 200, schema: noticePreferences },
  }),
  updateNoticePreferences: v2Operation('PATCH /v2/me/notice-preferences', {
    scope: 'notices:write',
    summary: 'Choose your email notices',
    tags: ['identity'],
    body: z
      .object({
        preferences: byCategory((description) => z.boolean().nullish().meta({ description })).meta({
          description: 'Omitted fields stay unchanged; null restores the default of the role.',
        }),
      })
      .meta({ id: 'NoticePreferencesUpdate' }),
    response: { status: 200, schema: noticePreferences },
  }),
} as const;
