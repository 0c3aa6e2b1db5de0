import { useState } from 'react';
import {
  setNotifications,
  useNotificationState,
  type NotificationState,
} from '../../app/live/notifications.ts';
import { setShortcutsEnabled, useShortcutsEnabled } from '../../app/shortcuts/shortcut-setting.ts';
import { useSession } from '../../api/session.tsx';
import { CheckboxField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import { Problem } from '../../ui/states.tsx';

const notificationHints: Readonly<Record<NotificationState, string>> = {
  unsupported: 'This browser does not support notifications on this page.',
  denied: 'Your browser blocks notifications of this site. Allow them in its site settings.',
  off: 'Your browser asks for permission.',
  on: 'Shown while the console is open in a background tab, for the organisation of that tab.',
};

/** Settings that are stored in this browser only. */
export function BrowserSettings() {
  const { me } = useSession();
  const shortcuts = useShortcutsEnabled();
  const notifications = useNotificationState(me.user.id);
  const [error, setError] = useState<unknown>(null);
  return (
    <Card title="This browser" about="Saved in this browser only.">
      <div className="flex flex-col gap-3">
        <CheckboxField
          label="Notify me when a machine is ready, fails or ends"
          checked={notifications === 'on'}
          disabled={notifications === 'unsupported' || notifications === 'denied'}
          hint={notificationHints[notifications]}
          onValue={(on) => void setNotifications(me.user.id, on).catch(setError)}
        />
        {error !== null && <Problem error={error} doing="change the setting" />}
        <CheckboxField
          label="Keyboard shortcuts"
          checked={shortcuts}
          hint={
            <>
              Press <kbd>?</kbd> to see them. <kbd>Ctrl K</kbd> always opens the search.
            </>
          }
          onValue={setShortcutsEnabled}
        />
      </div>
    </Card>
  );
}
