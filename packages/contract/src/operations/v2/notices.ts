import { z } from 'zod';
import { noticeCategories, noticeCategoryNames, type NoticeCategory } from '../../notices.ts';
import { v2Operation } from '../../operation-builders.ts';

/** What people are told by mail, and how each of them chooses. */

/** One field for each category, in the order in which people read them. */
function byCategory<Field extends z.ZodType>(fieldOf: (description: string) => Field) {
  const fields = noticeCategoryNames.map((name) => [name, fieldOf(noticeCategories[name])] as const);
  return z.object(Object.fromEntries(fields) as Record<NoticeCategory, Field>);
}

const noticePreferences = z
  .object({
    email: z.string().max(255).meta({ description: 'Where mail of this person goes.' }),
    preferences: byCategory((description) =>
      z
        .object({
          enabled: z.boolean().meta({ description: 'Whether this person gets it.' }),
          chosen: z.boolean().nullable().meta({
            description: 'What was chosen; null leaves it to what the role gets unless it chooses.',
          }),
          available: z
            .boolean()
            .meta({ description: 'Whether the role may know it at all; where it may not, nothing is sent.' }),
        })
        .meta({ description }),
    ),
  })
  .meta({ id: 'NoticePreferences' });

export const noticeOperations = {
  getNoticePreferences: v2Operation('GET /v2/me/notice-preferences', {
    scope: null,
    summary: 'What the person of this key is told by mail',
    description:
      'Of this person in this organisation. Live and test keys have preferences of their own: of what happens in test mode nothing is sent unless it was chosen.',
    tags: ['identity'],
    response: { status: 200, schema: noticePreferences },
  }),
  updateNoticePreferences: v2Operation('PATCH /v2/me/notice-preferences', {
    scope: 'notices:write',
    summary: 'Choose what the person of this key is told by mail',
    tags: ['identity'],
    body: z
      .object({
        preferences: byCategory((description) => z.boolean().nullish().meta({ description })).meta({
          description: 'What is left out stays as it is; null goes back to what the role gets.',
        }),
      })
      .meta({ id: 'NoticePreferencesUpdate' }),
    response: { status: 200, schema: noticePreferences },
  }),
} as const;
