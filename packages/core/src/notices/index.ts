export { startNotices, type NoticeOptions } from './notices.job.ts';
export {
  allowMail,
  isMailRefused,
  refuseMail,
  countMailboxLetters as countLettersTo,
  insertMailboxLetter as writeToMailbox,
  skipLetters as callOffLetter,
} from './mailbox.store.ts';
export { tellPeople } from './notices.service.ts';
export { serveNotices, type NoticeRoutes } from './preferences.routes.ts';
