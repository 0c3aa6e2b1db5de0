import type { Role } from '@millrace/contract';
import { domainOf, oneLine, type Letter, type Mailbox } from '@millrace/platform/mail';
import { toUuid, type NoticeId, type OrgId, type UserId } from '@millrace/platform/ids';
import { writers, type Message } from './letters.ts';
import { invitationMessage, readMailboxLetter } from './mailbox-letters.ts';
import { readData, type NoticeData, type NoticeType } from './notices.ts';

/** A notice as the letter that somebody gets. Pure. */

/** Who writes: how the installation presents itself. */
export interface Sender {
  readonly from: Mailbox;
  readonly consoleUrl: string | null;
}

export interface Addressee {
  readonly userId: UserId;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly orgId: OrgId;
  readonly orgName: string;
}

export interface ToldNotice {
  readonly id: NoticeId;
  readonly type: NoticeType;
  readonly data: unknown;
}

/** Null when the notice does not say what its type promises. */
export function letterOf(notice: ToldNotice, addressee: Addressee, sender: Sender): Letter | null {
  const message = messageOf(notice.type, notice.data);
  if (message === null) return null;
  const parts = partsOf(message, addressee, sender);
  return {
    messageId: `${toUuid(notice.id)}.${toUuid(addressee.userId)}@${domainOf(sender.from)}`,
    to: { name: addressee.name, address: addressee.email },
    subject: `[${oneLine(addressee.orgName)}] ${message.subject}`,
    text: toText(parts),
    html: toHtml(parts),
    headers: { 'X-Millrace-Notice': notice.type, ...preferenceHeaders(sender) },
  };
}

/** One click (RFC 8058) needs an address that mail programs can post to by TLS. */
function refusalHeaders(link: string | null): Readonly<Record<string, string>> {
  if (link === null) return {};
  const oneClick = { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
  return { 'List-Unsubscribe': `<${link}>`, ...(link.startsWith('https:') ? oneClick : {}) };
}

/** Where each person chooses their mail, for the button that mail programs show. */
function preferenceHeaders(sender: Sender): Readonly<Record<string, string>> {
  const page = preferencesPage(sender);
  return page === null ? {} : { 'List-Unsubscribe': `<${page}>` };
}

function preferencesPage({ consoleUrl }: Sender): string | null {
  return consoleUrl === null ? null : `${consoleUrl.replace(/(?<!\/)\/+$/, '')}/account`;
}

/** Several notices as one letter. `id` follows from the notices. */
export function digestLetterOf(
  digest: { readonly id: string; readonly message: Message },
  addressee: Addressee,
  sender: Sender,
): Letter {
  const parts = partsOf(digest.message, addressee, sender);
  return {
    messageId: `digest.${digest.id}.${toUuid(addressee.userId)}@${domainOf(sender.from)}`,
    to: { name: addressee.name, address: addressee.email },
    subject: `[${oneLine(addressee.orgName)}] ${digest.message.subject}`,
    text: toText(parts),
    html: toHtml(parts),
    headers: { 'X-Millrace-Notice': 'digest', ...preferenceHeaders(sender) },
  };
}

/** The same to a mailbox; one letter to one mailbox, so the notice alone names it. */
export function mailboxLetterOf(
  notice: { readonly id: NoticeId; readonly type: string; readonly data: unknown },
  email: string,
  from: Mailbox,
): Letter | null {
  const read = readMailboxLetter(notice.type, notice.data);
  if (read === null) return null;
  const message = invitationMessage(read);
  const name = from.name ?? 'Millrace';
  const parts = {
    ...message,
    link: read.link,
    footer:
      `You get this from ${name} because the inviter named this mailbox. If you do not know them, ignore it` +
      (read.refuseLink === null ? '.' : `, or stop all mail about invitations: ${read.refuseLink}`),
  };
  return {
    messageId: `${toUuid(notice.id)}@${domainOf(from)}`,
    to: { name: null, address: email },
    subject: oneLine(message.subject),
    text: toText(parts),
    html: toHtml(parts),
    headers: { 'X-Millrace-Notice': notice.type, ...refusalHeaders(read.refuseLink) },
  };
}

export function messageOf<Type extends NoticeType>(type: Type, data: unknown): Message | null {
  const read = readData(type, data);
  const write: (data: NoticeData<Type>) => Message = writers[type];
  return read === null ? null : write(read);
}

interface Parts extends Message {
  readonly link: string | null;
  readonly footer: string;
}

function partsOf(message: Message, { role, orgName, orgId }: Addressee, sender: Sender): Parts {
  const { from, consoleUrl } = sender;
  const page = preferencesPage(sender);
  const name = from.name ?? 'Millrace';
  return {
    ...message,
    link: consoleUrl,
    footer:
      `You get this from ${name} as ${role} of ${oneLine(orgName)} (${orgId}). ` +
      `Choose what you get ${page === null ? 'with millrace me notices' : `at ${page}, or with millrace me notices`}.`,
  };
}

function toText({ lead, facts, advice, link, footer }: Parts): string {
  const width = Math.max(...facts.map(([name]) => name.length)) + 2;
  const lines = facts.map(([name, value]) => `  ${`${name}:`.padEnd(width)}${oneLine(value)}`);
  const paragraphs = [oneLine(lead), lines.join('\n'), advice, ...(link === null ? [] : [link])];
  return `${[...paragraphs, `-- \n${footer}`].join('\n\n')}\n`;
}

function toHtml({ subject, lead, facts, advice, link, footer }: Parts): string {
  const rows = facts.map(([name, value]) => {
    return `<tr><td style="padding-right:1em;color:#555">${escape(name)}</td><td>${escape(value)}</td></tr>`;
  });
  const address = link === null ? [] : [`<p><a href="${escape(link)}">${escape(link)}</a></p>`];
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escape(subject)}</title></head>`,
    '<body style="font-family:sans-serif;line-height:1.5">',
    `<p>${escape(lead)}</p>`,
    `<table>${rows.join('')}</table>`,
    `<p>${escape(advice)}</p>`,
    ...address,
    `<p style="color:#777;font-size:small">${escape(footer)}</p>`,
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

/** Names of things come from tenants, and a letter is read by others than those who named them. */
function escape(text: string): string {
  return oneLine(text).replaceAll(/[&<>"']/g, (char) => entities[char] ?? '');
}
