import type { Role } from '@millrace/contract';
import { domainOf, oneLine, type Email, type EmailAddress } from '@millrace/platform/mail';
import { toUuid, type NoticeId, type OrgId, type UserId } from '@millrace/platform/ids';
import { messageWriters, type NoticeMessage } from './notice-messages.ts';
import { invitationMessage, parseExternalEmail } from './external-emails.ts';
import { parseNoticeData, type NoticeData, type NoticeType } from './notices.ts';

/** Renders notices as emails. Pure. */

/** How the installation presents itself. */
export interface Sender {
  readonly from: EmailAddress;
  readonly consoleUrl: string | null;
}

export interface Recipient {
  readonly userId: UserId;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly orgId: OrgId;
  readonly orgName: string;
}

export interface TypedNotice {
  readonly id: NoticeId;
  readonly type: NoticeType;
  readonly data: unknown;
}

/** Null if the data of the notice does not match its type. */
export function renderNoticeEmail(notice: TypedNotice, recipient: Recipient, sender: Sender): Email | null {
  const message = noticeMessageOf(notice.type, notice.data);
  if (message === null) return null;
  const content = toEmailContent(message, recipient, sender);
  return {
    messageId: `${toUuid(notice.id)}.${toUuid(recipient.userId)}@${domainOf(sender.from)}`,
    to: { name: recipient.name, address: recipient.email },
    subject: `[${oneLine(recipient.orgName)}] ${message.subject}`,
    text: toText(content),
    html: toHtml(content),
    headers: { 'X-Millrace-Notice': notice.type, ...preferenceHeaders(sender) },
  };
}

/** One-click unsubscribe (RFC 8058) needs an https address. */
function unsubscribeHeaders(link: string | null): Readonly<Record<string, string>> {
  if (link === null) return {};
  const oneClick = { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
  return { 'List-Unsubscribe': `<${link}>`, ...(link.startsWith('https:') ? oneClick : {}) };
}

/** Links the preferences page, for the button that email programs show. */
function preferenceHeaders(sender: Sender): Readonly<Record<string, string>> {
  const page = preferencesPage(sender);
  return page === null ? {} : { 'List-Unsubscribe': `<${page}>` };
}

function preferencesPage({ consoleUrl }: Sender): string | null {
  return consoleUrl === null ? null : `${consoleUrl.replace(/(?<!\/)\/+$/, '')}/account`;
}

/** Several notices in one email. `id` follows from the notices. */
export function renderDigestEmail(
  digest: { readonly id: string; readonly message: NoticeMessage },
  recipient: Recipient,
  sender: Sender,
): Email {
  const content = toEmailContent(digest.message, recipient, sender);
  return {
    messageId: `digest.${digest.id}.${toUuid(recipient.userId)}@${domainOf(sender.from)}`,
    to: { name: recipient.name, address: recipient.email },
    subject: `[${oneLine(recipient.orgName)}] ${digest.message.subject}`,
    text: toText(content),
    html: toHtml(content),
    headers: { 'X-Millrace-Notice': 'digest', ...preferenceHeaders(sender) },
  };
}

/** An email to an address without a member; the notice alone identifies it. */
export function renderExternalEmail(
  notice: { readonly id: NoticeId; readonly type: string; readonly data: unknown },
  email: string,
  from: EmailAddress,
): Email | null {
  const read = parseExternalEmail(notice.type, notice.data);
  if (read === null) return null;
  const message = invitationMessage(read);
  const name = from.name ?? 'Millrace';
  const content = {
    ...message,
    link: read.link,
    footer:
      `You received this email from ${name} because the inviter entered your address. If you do not know the inviter, ignore it` +
      (read.refuseLink === null ? '.' : `, or stop all invitation emails: ${read.refuseLink}`),
  };
  return {
    messageId: `${toUuid(notice.id)}@${domainOf(from)}`,
    to: { name: null, address: email },
    subject: oneLine(message.subject),
    text: toText(content),
    html: toHtml(content),
    headers: { 'X-Millrace-Notice': notice.type, ...unsubscribeHeaders(read.refuseLink) },
  };
}

export function noticeMessageOf<Type extends NoticeType>(type: Type, data: unknown): NoticeMessage | null {
  const read = parseNoticeData(type, data);
  const write: (data: NoticeData<Type>) => NoticeMessage = messageWriters[type];
  return read === null ? null : write(read);
}

interface EmailContent extends NoticeMessage {
  readonly link: string | null;
  readonly footer: string;
}

function toEmailContent(
  message: NoticeMessage,
  { role, orgName, orgId }: Recipient,
  sender: Sender,
): EmailContent {
  const { from, consoleUrl } = sender;
  const page = preferencesPage(sender);
  const name = from.name ?? 'Millrace';
  return {
    ...message,
    link: consoleUrl,
    footer:
      `You received this email from ${name} as ${role} of ${oneLine(orgName)} (${orgId}). ` +
      `Change your email preferences ${page === null ? 'with millrace me notices' : `at ${page}, or with millrace me notices`}.`,
  };
}

function toText({ lead, facts, advice, link, footer }: EmailContent): string {
  const width = Math.max(...facts.map(([name]) => name.length)) + 2;
  const lines = facts.map(([name, value]) => `  ${`${name}:`.padEnd(width)}${oneLine(value)}`);
  const paragraphs = [oneLine(lead), lines.join('\n'), advice, ...(link === null ? [] : [link])];
  return `${[...paragraphs, `-- \n${footer}`].join('\n\n')}\n`;
}

function toHtml({ subject, lead, facts, advice, link, footer }: EmailContent): string {
  const rows = facts.map(([name, value]) => {
    return `<tr><td style="padding-right:1em;color:#555">${escapeHtml(name)}</td><td>${escapeHtml(value)}</td></tr>`;
  });
  const address = link === null ? [] : [`<p><a href="${escapeHtml(link)}">${escapeHtml(link)}</a></p>`];
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>`,
    '<body style="font-family:sans-serif;line-height:1.5">',
    `<p>${escapeHtml(lead)}</p>`,
    `<table>${rows.join('')}</table>`,
    `<p>${escapeHtml(advice)}</p>`,
    ...address,
    `<p style="color:#777;font-size:small">${escapeHtml(footer)}</p>`,
    '</body></html>',
  ].join('\n');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Tenants choose the names of resources, and other users read the email. */
function escapeHtml(text: string): string {
  return oneLine(text).replaceAll(/[&<>"']/g, (char) => entities[char] ?? '');
}
