export { startNotices, type NoticeOptions } from './notices.loops.ts';
export {
  resubscribe,
  isUnsubscribed,
  unsubscribe,
  countExternalEmails as countLettersTo,
  insertExternalEmail as writeToMailbox,
  cancelEmails as callOffLetter,
} from './external-emails.store.ts';
export { notifyMembers } from './notices.service.ts';
export { serveNotices, type NoticeRoutes } from './preferences.routes.ts';
