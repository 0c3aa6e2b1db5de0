import { eventTypes, noticeCategoryNames, roles } from '@millrace/contract';
import type { NoticeCategory, Role, Scope } from '@millrace/contract';
import type { Mode } from '@millrace/platform/envelope';
import type { UserId } from '@millrace/platform/ids';
import { z } from 'zod';

/** Types of notices, their categories and recipients. Pure. */

/** Notices without an event: they concern the tenant's settings, which a failing program cannot read. */
const otherTypes = {
  'webhook.disabled': {
    data: z.object({
      webhookId: z.string(),
      url: z.string(),
      reason: z.string(),
      failingSince: z.iso.datetime(),
    }),
  },
} as const satisfies Record<string, { readonly data: z.ZodObject }>;

const types = { ...eventTypes, ...otherTypes };

/** The preference category of each type. The trigger on events has the same list. */
export const categoryOf = {
  'balance.low': 'balance',
  'balance.floor': 'balance',
  'budget.threshold': 'budgets',
  'budget.exceeded': 'budgets',
  'rental.expiring': 'expiring',
  'instance.expiring': 'expiring',
  'maintenance.announced': 'maintenance',
  'maintenance.ended': 'maintenance',
  'invoice.finalized': 'invoices',
  'key.created': 'keys',
  'webhook.disabled': 'webhooks',
} as const satisfies Partial<Record<keyof typeof types, NoticeCategory>>;

export type NoticeType = keyof typeof categoryOf;

export type NoticeData<Type extends NoticeType> = z.output<(typeof types)[Type]['data']>;

export function isNoticeType(type: string): type is NoticeType {
  return Object.hasOwn(categoryOf, type);
}

/** Null if the data does not match its type. */
export function parseNoticeData<Type extends NoticeType>(type: Type, data: unknown): NoticeData<Type> | null {
  const read = types[type].data.safeParse(data);
  return read.success ? (read.data as NoticeData<Type>) : null;
}

interface Category {
  /** Only members who can read it by the API get it by email. */
  readonly scope: Scope;
  /** Roles that get it by default. */
  readonly roles: readonly Role[];
}

const categories: Readonly<Record<NoticeCategory, Category>> = {
  balance: { scope: 'billing:read', roles: ['owner', 'admin', 'billing'] },
  budgets: { scope: 'billing:read', roles: ['owner', 'admin', 'billing'] },
  expiring: { scope: 'rentals:read', roles: ['owner', 'admin'] },
  maintenance: { scope: 'rentals:read', roles: ['owner', 'admin'] },
  invoices: { scope: 'billing:read', roles: ['owner', 'billing'] },
  webhooks: { scope: 'webhooks:read', roles: ['owner', 'admin'] },
  keys: { scope: 'api-keys:read', roles: ['owner', 'admin'] },
};

export function defaultRolesOf(category: NoticeCategory): readonly Role[] {
  return categories[category].roles;
}

export function mayReadCategory(role: Role, category: NoticeCategory): boolean {
  return roles[role].includes(categories[category].scope);
}

/** Explicit choices of a member; a missing category has no choice. */
export type CategoryChoices = Readonly<Partial<Record<NoticeCategory, boolean>>>;

export interface Preference {
  readonly enabled: boolean;
  readonly chosen: boolean | null;
  readonly available: boolean;
}

/** Test mode sends nothing by default. */
function preferenceOf(role: Role, mode: Mode, name: NoticeCategory, choices: CategoryChoices): Preference {
  const chosen = choices[name] ?? null;
  const available = mayReadCategory(role, name);
  const byRole = mode === 'live' && categories[name].roles.includes(role);
  return { enabled: available && (chosen ?? byRole), chosen, available };
}

export function preferencesOf(
  role: Role,
  mode: Mode,
  choices: CategoryChoices,
): Readonly<Record<NoticeCategory, Preference>> {
  const entries = noticeCategoryNames.map((name) => [name, preferenceOf(role, mode, name, choices)] as const);
  return Object.fromEntries(entries) as Record<NoticeCategory, Preference>;
}

export interface RecipientCandidate {
  readonly userId: UserId;
  readonly role: Role;
  readonly choices: CategoryChoices;
}

/** The recipients of a notice. The user of a new key also gets it, unless the user opted out. */
export function recipientsOf(
  notice: { readonly category: NoticeCategory; readonly mode: Mode; readonly about: UserId | null },
  members: readonly RecipientCandidate[],
): readonly UserId[] {
  const { category, mode, about } = notice;
  return members
    .filter(({ userId, role, choices }) => {
      const { enabled, chosen, available } = preferenceOf(role, mode, category, choices);
      return enabled || (mode === 'live' && userId === about && available && chosen === null);
    })
    .map(({ userId }) => userId);
}
