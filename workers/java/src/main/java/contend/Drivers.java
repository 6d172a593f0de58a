package contend;

/** Drivers by name: {@code java-my-own} is the class {@code MyOwnDriver}. */
final class Drivers {
    private Drivers() {}

    /** Null if there is no driver with this name. */
    static Driver of(String name) {
        StringBuilder type = new StringBuilder("contend.");
        for (String word : name.replaceFirst("^java-", "").split("-")) {
            type.append(word.isEmpty() ? "" : Character.toUpperCase(word.charAt(0)) + word.substring(1));
        }
        try {
            return (Driver) Class.forName(type + "Driver").getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException | NoClassDefFoundError e) {
            return null;
        }
    }
}
