/** The email notices that a user can switch on and off, with their descriptions. */
export const noticeCategories = {
  balance: 'The balance ends soon, or has ended.',
  budgets: 'A budget passed a threshold, or is used up.',
  expiring: 'A term, a TTL or the money for a rental or an instance is about to end.',
  maintenance: 'Machines in use will be unavailable for a stated time, or the maintenance was cancelled.',
  invoices: 'An invoice is final.',
  webhooks: 'A webhook was disabled because its receiver failed for too long.',
  keys: 'An API key was created.',
} as const satisfies Record<string, string>;

export type NoticeCategory = keyof typeof noticeCategories;

export const noticeCategoryNames = Object.keys(noticeCategories) as [NoticeCategory, ...NoticeCategory[]];
