import { useSyncExternalStore } from 'react';

/** Browser notifications. The setting belongs to the user and this browser; the browser's permission is separate. */

const listeners = new Set<() => void>();

function storageKey(userId: string): string {
  return `millrace.notifications ${userId}`;
}

export type NotificationState = 'unsupported' | 'denied' | 'off' | 'on';

function notificationState(userId: string): NotificationState {
  // Notifications exist only on HTTPS and localhost.
  if (!('Notification' in globalThis)) return 'unsupported';
  if (Notification.permission === 'denied') return 'denied';
  const isChosen = globalThis.localStorage.getItem(storageKey(userId)) === 'on';
  return isChosen && Notification.permission === 'granted' ? 'on' : 'off';
}

/** Call it only after a click: the browser may ask the user. */
export async function setNotifications(userId: string, on: boolean): Promise<void> {
  if (on) {
    const permission = await Notification.requestPermission();
    if (permission === 'granted') globalThis.localStorage.setItem(storageKey(userId), 'on');
  } else {
    globalThis.localStorage.removeItem(storageKey(userId));
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function useNotificationState(userId: string): NotificationState {
  return useSyncExternalStore(subscribe, () => notificationState(userId));
}

interface NotificationOptions {
  readonly userId: string;
  readonly title: string;
  readonly body: string;
  /** A newer notification with the same tag replaces the older one. */
  readonly tag: string;
  readonly onClick: () => void;
}

/** Shows nothing if the user looks at the console or has not turned notifications on. Returns how to remove it. */
export function showNotification({ userId, title, body, tag, onClick }: NotificationOptions): () => void {
  if (notificationState(userId) !== 'on' || document.hasFocus()) return () => undefined;
  const shown = new Notification(title, { body, tag });
  shown.addEventListener('click', () => {
    globalThis.focus();
    shown.close();
    onClick();
  });
  return () => shown.close();
}
